-- Staff look for all users whose e-mail addresses are of one domain.
CREATE INDEX users_email_domain ON users (split_part(lower(email), '@', 2));
