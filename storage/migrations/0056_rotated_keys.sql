-- The key that an account had when it made an activity, if the account has another one by now.
ALTER TABLE activities ADD COLUMN private_key text CHECK (length(private_key) <= 16384);
