"""No page query scans a table: PostgreSQL explains each over a database with some thousand rows of every kind."""

import asyncio
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

from troupe import storage
from troupe.storage import (
    account_deletions,
    account_names,
    accounts,
    admin_accounts,
    announcements,
    blocked_domains,
    blocked_emails,
    blocks,
    bookmarks,
    conversation_mutes,
    conversations,
    custom_emojis,
    dead_letters,
    deletions,
    directory,
    domain_blocks,
    edits,
    email_changes,
    endorsements,
    exports,
    favourites,
    featured_tags,
    filters,
    follow_requests,
    followed_tags,
    follows,
    idempotency,
    imports,
    invites,
    lists,
    markers,
    media,
    mutes,
    notification_groups,
    notification_policy,
    notification_requests,
    notifications,
    oauth,
    outbox,
    passwords,
    pins,
    polls,
    preview_cards,
    push_subscriptions,
    quotes,
    reblogs,
    registration,
    relations,
    reports,
    scheduled_statuses,
    search,
    sessions,
    status_flags,
    status_search,
    statuses,
    strikes,
    suggestions,
    tags,
    timeline_entries,
    timelines,
    trend_reviews,
    trends,
    two_factor,
    users,
    visits,
)
from troupe.storage.admin_accounts import AccountFilter
from troupe.storage.blocked_domains import AllowedDomain, BlockedDomain
from troupe.storage.blocked_emails import BlockedEmail, BlockedEmailDomain
from troupe.storage.blocked_networks import BlockedNetwork
from troupe.storage.engine.connect import connect
from troupe.storage.federation import activities, actor_keys, follower_lists, hosts, peer_readers, remote_accounts
from troupe.storage.reports import ReportFilter
from troupe.storage.server_blocks import table_of
from troupe.storage.upkeep import expiry

from ..databases import Databases
from .conftest import NOW, Stage

LOW, HIGH = 0, 2**63 - 1

#: An account that searches: what is hidden from it, and the stretches that its search leaves out.
ONLOOKER = (7, [8, 9], ["d8.test"], [100], [200])

#: 500 local accounts and 19,500 remote ones, 20,000 statuses with answers and boosts, 40,000 follows, and the like.
FILL = """
    INSERT INTO accounts (
        id, username, domain, uri, inbox_url, discoverable, silenced_at, sensitized_at, suspended_at, display_name,
        names, created_at, updated_at
    )
    SELECT n, 'u' || n, CASE WHEN n > 500 THEN 'd' || n % 50 || '.test' END, 'https://x/' || n,
        CASE WHEN n > 500 THEN 'https://x/' || n || '/inbox' END, n % 3 = 0, CASE n % 100 WHEN 7 THEN now() END,
        CASE n % 100 WHEN 8 THEN now() END, CASE n % 100 WHEN 9 THEN now() END, 'name ' || n,
        CASE WHEN n % 1000 > 0 THEN to_tsvector('simple', 'u' || n || ' name ' || n) END,
        now() - n * interval '1 hour', now()
    FROM generate_series(1, 20000) n;
    INSERT INTO account_counts (account_id, last_status_at)
    SELECT id, CASE WHEN id % 2 = 0 THEN now() - id * interval '1 minute' END FROM accounts;
    INSERT INTO users (account_id, email, role, sign_up_ip, confirmed_at, approved_at, disabled_at, created_at)
    SELECT id, username || CASE id % 50 WHEN 3 THEN '@y.test' ELSE '@x.test' END,
        CASE id % 100 WHEN 7 THEN 'admin' ELSE 'user' END,
        '10.0.0.0'::inet + id, now(), CASE WHEN id % 50 <> 8 THEN now() END, CASE id % 100 WHEN 7 THEN now() END, now()
    FROM accounts WHERE domain IS NULL;
    INSERT INTO applications (id, client_id, secret_hash, name, redirect_uris, scopes, created_at)
    SELECT n, 'c' || n, decode(repeat('00', 32), 'hex'), 'app', '{https://a/}', '{read}', now()
    FROM generate_series(1, 20000) n;
    INSERT INTO oauth_grants (code_hash, application_id, account_id, redirect_uri, scopes, created_at, expires_at)
    SELECT sha256(n::text::bytea), n, n % 500 + 1, 'https://a/', '{read}', now(), now() FROM generate_series(1, 5000) n;
    INSERT INTO web_sessions (token_hash, account_id, created_at, expires_at)
    SELECT sha256(n::text::bytea), n % 500 + 1, now(), now() FROM generate_series(1, 5000) n;
    INSERT INTO imports (id, account_id, kind, overwrite, created_at, finished_at)
    SELECT n, n % 500 + 1, 'blocks', true, now(), now() FROM generate_series(1, 2000) n;
    INSERT INTO import_lines (import_id, number, target, done)
    SELECT n, l, 't' || l, n % 2 = 0 FROM generate_series(1, 2000) n, generate_series(1, 5) l;
    INSERT INTO password_resets (token_hash, account_id, email, created_at, expires_at)
    SELECT sha256(n::text::bytea), n % 500 + 1, 'a@x.test', now(), now() FROM generate_series(1, 5000) n;
    INSERT INTO sign_in_challenges (token_hash, account_id, created_at, expires_at)
    SELECT sha256(n::text::bytea), n % 500 + 1, now(), now() FROM generate_series(1, 5000) n;
    INSERT INTO two_factor (account_id, secret, created_at)
    SELECT n, repeat('A', 32), now() FROM generate_series(1, 5000) n;
    INSERT INTO recovery_codes (account_id, code_hash)
    SELECT n, sha256(n::text::bytea) FROM generate_series(1, 5000) n;
    INSERT INTO access_tokens (id, token_hash, application_id, account_id, scopes, created_at)
    SELECT n, sha256(n::text::bytea), n, 1 + n % 500, '{read}', now() FROM generate_series(1, 2000) n;
    INSERT INTO push_subscriptions (
        token_id, account_id, access_token, endpoint, service, p256dh, auth, standard, alerts, policy, created_at
    )
    SELECT id, account_id, 't', 'https://p/' || id, 'p', sha256('1') || sha256('2') || '4'::bytea,
        substr(sha256('a'), 1, 16), true, '{mention}', 'all', now() FROM access_tokens;
    INSERT INTO statuses (
        id, account_id, uri, local, visibility, conversation_id, in_reply_to_id, in_reply_to_account_id, reblog_of_id,
        media_ids, created_at
    )
    SELECT n, 1 + n % 2000, 'https://x/s/' || n, 1 + n % 2000 <= 500,
        CASE n % 7 WHEN 0 THEN 'private' ELSE 'public' END,
        n, CASE WHEN n % 5 = 0 THEN n - 1 END, CASE WHEN n % 5 = 0 THEN 1 + (n - 1) % 2000 END,
        CASE WHEN n % 11 = 0 AND n % 5 <> 0 THEN n - 10 END, CASE WHEN n % 9 = 0 THEN ARRAY[n] ELSE '{}' END, now()
    FROM generate_series(1, 20000) n;
    UPDATE statuses
    SET quote_of_id = id - 6, quote_state = 'accepted', quote_change_id = CASE WHEN id % 2 = 0 THEN id END
    WHERE id % 13 = 0 AND reblog_of_id IS NULL;
    INSERT INTO status_counts (status_id) SELECT id FROM statuses;
    INSERT INTO status_words (status_id, words) SELECT id, array_to_tsvector(ARRAY['w' || id % 100, '*']) FROM statuses;
    UPDATE statuses SET deleted_at = now() - interval '1 year' WHERE id % 997 = 0;
    INSERT INTO reports (id, account_id, target_account_id, status_ids, action_taken_at, created_at, updated_at)
    SELECT n, 1 + n % 2000, 1 + n % 1999, ARRAY[n], CASE WHEN n % 20 > 0 THEN now() END, now(), now()
    FROM generate_series(1, 20000) n;
    INSERT INTO report_notes (id, report_id, content, created_at)
    SELECT n, 1 + n % 2000, 'x', now() FROM generate_series(1, 5000) n;
    INSERT INTO strikes (id, target_account_id, action, created_at)
    SELECT n, 1 + n % 2000, 'none', now() FROM generate_series(1, 5000) n;
    INSERT INTO appeals (id, strike_id, account_id, text, rejected_at, created_at)
    SELECT n, n, 1 + n % 2000, 'x', CASE WHEN n % 20 > 0 THEN now() END, now() FROM generate_series(1, 5000) n;
    INSERT INTO media_attachments (id, account_id, status_id, type, created_at, updated_at)
    SELECT id, account_id, id, 'image', now(), now() FROM statuses;
    INSERT INTO scheduled_statuses (id, account_id, scheduled_at, params, media_ids, created_at)
    SELECT n, 1 + n % 500, now(), '{}', CASE WHEN n % 3 = 0 THEN ARRAY[100000 + n] ELSE '{}' END, now()
    FROM generate_series(1, 5000) n;
    INSERT INTO media_attachments (id, account_id, scheduled_status_id, type, created_at, updated_at)
    SELECT 100000 + id, account_id, id, 'image', now(), now() FROM scheduled_statuses WHERE id % 3 = 0;
    INSERT INTO polls (id, account_id, created_at) SELECT n, 1 + n % 500, now() FROM generate_series(1, 5000) n;
    INSERT INTO poll_options (poll_id, position, title)
    SELECT n, p, 'x' FROM generate_series(1, 5000) n, generate_series(0, 1) p;
    INSERT INTO poll_votes (id, poll_id, position, account_id, created_at)
    SELECT n, n, 0, 1 + n % 500, now() FROM generate_series(1, 5000) n;
    INSERT INTO preview_cards (id, url, found, fetched_at)
    SELECT n, 'https://p/' || n, true, now() FROM generate_series(1, 10000) n;
    INSERT INTO status_cards (status_id, card_id, id) SELECT id, id / 2, id FROM statuses WHERE id % 4 = 0;
    INSERT INTO publisher_reviews SELECT 'd' || n || '.test', true, now() FROM generate_series(1, 5000) n;
    INSERT INTO link_reviews SELECT id, true, now() FROM preview_cards;
    INSERT INTO author_reviews SELECT id, true, now() FROM accounts;
    INSERT INTO status_reviews SELECT id, true, now() FROM statuses;
    INSERT INTO mentions (status_id, account_id) SELECT id, 1 + id % 500 FROM statuses WHERE id % 3 = 0;
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT n, 't' || n, 't' || n, now() FROM generate_series(1, 2000) n;
    INSERT INTO status_tags SELECT 1 + id % 2000, id FROM statuses WHERE id % 2 = 0;
    INSERT INTO custom_emojis (id, shortcode, domain, file, static_file, created_at, updated_at)
    SELECT n, 'e' || n, CASE WHEN n % 10 > 0 THEN 'd' || n % 100 END, 'x', 'x', now(), now()
    FROM generate_series(1, 20000) n;
    INSERT INTO announcements (id, text, content, mentions, statuses, tags, all_day, published_at, updated_at)
    SELECT n, 'x', 'x', '[]', '[]', '{}', false, now(), now() FROM generate_series(1, 100) n;
    INSERT INTO announcement_reactions SELECT 1 + n % 100, n, 'e' || n % 8, now() FROM generate_series(1, 2000) n;
    INSERT INTO announcement_dismissals SELECT n, 1 + n % 100 FROM generate_series(1, 2000) n;
    INSERT INTO featured_tags (id, account_id, tag_id, display_name, created_at)
    SELECT n, 1 + n % 5000, 1 + n / 10, 'x', now() FROM generate_series(1, 19999) n;
    INSERT INTO followed_tags (id, account_id, tag_id, created_at)
    SELECT n, 1 + n % 5000, 1 + n / 10, now() FROM generate_series(1, 19999) n;
    INSERT INTO follows (id, account_id, target_account_id, from_domain, created_at)
    SELECT a.id * 10000 + b, a.id, b, a.domain, now() FROM accounts a, generate_series(1, 2000, 100) b
    WHERE a.id <= 2000 AND a.id <> b;
    INSERT INTO follow_requests SELECT id, account_id, target_account_id + 1, true, false, NULL, NULL, now()
    FROM follows WHERE id % 7 = 0 AND account_id <> target_account_id + 1;
    INSERT INTO blocks (id, account_id, target_account_id, created_at)
    SELECT n, n, n + 1, now() FROM generate_series(1, 19999) n;
    INSERT INTO mutes (id, account_id, target_account_id, created_at)
    SELECT n, n, n + 1, now() FROM generate_series(1, 19999) n;
    INSERT INTO favourites (id, account_id, status_id, created_at)
    SELECT id, 1 + id % 500, id, now() FROM statuses;
    INSERT INTO bookmarks (id, account_id, status_id, created_at) SELECT id, 1 + id % 500, id, now() FROM statuses;
    INSERT INTO pins (id, account_id, status_id, created_at)
    SELECT id, account_id, id, now() FROM statuses WHERE id < 3000;
    INSERT INTO activities (id, account_id, body, deliveries, created_at)
    SELECT n, 1 + n % 500, '{}', 1, now() FROM generate_series(1, 5000) n;
    INSERT INTO account_domain_blocks (id, account_id, domain, created_at)
    SELECT n, 1 + n % 500, 'e' || n, now() FROM generate_series(1, 2000) n;
    INSERT INTO ended_suggestions SELECT n, n + 1 + m, CASE WHEN m > 0 THEN n END
    FROM generate_series(1, 9999) n, generate_series(0, 1) m;
    INSERT INTO endorsements SELECT id, account_id, target_account_id, now() FROM follows WHERE id % 9 = 0;
    INSERT INTO lists (id, account_id, title, created_at)
    SELECT n, n % 500 + 1, 'x', now() FROM generate_series(1, 5000) n;
    INSERT INTO list_accounts (id, list_id, account_id, created_at)
    SELECT n, n % 5000 + 1, n % 1999 + 1, now() FROM generate_series(1, 20000) n;
    INSERT INTO account_notes SELECT n, n + 1, 'x', now() FROM generate_series(1, 1999) n;
    INSERT INTO conversation_mutes SELECT 1 + id % 500, id, now() FROM statuses WHERE id % 4 = 0;
    INSERT INTO notifications (id, account_id, from_account_id, type, status_id, created_at)
    SELECT id, 1 + id % 500, 1 + id % 1999, 'favourite', id, now() FROM statuses WHERE 1 + id % 500 <> 1 + id % 1999;
    INSERT INTO filters (id, account_id, title, contexts, action, created_at, updated_at)
    SELECT n, 1 + n % 500, 'x', '{home}', 'warn', now(), now() FROM generate_series(1, 5000) n;
    INSERT INTO filter_keywords (id, filter_id, keyword, created_at)
    SELECT n, 1 + n % 5000, 'x', now() FROM generate_series(1, 15000) n;
    INSERT INTO filter_statuses (id, filter_id, status_id, created_at)
    SELECT n, 1 + n % 5000, n, now() FROM generate_series(1, 5000) n;
    UPDATE notifications SET filtered = true, type = 'mention' WHERE id % 10 = 0;
    INSERT INTO notification_requests (id, account_id, from_account_id, created_at, updated_at)
    SELECT max(id), account_id, from_account_id, now(), now() FROM notifications WHERE filtered
    GROUP BY account_id, from_account_id;
    INSERT INTO account_conversations (id, account_id, conversation_id, participant_ids, last_status_id)
    SELECT id, 1 + id % 500, id, ARRAY[1 + id % 1999], id FROM statuses;
    INSERT INTO markers (account_id, timeline, last_read_id, updated_at)
    SELECT account_id, timeline, 1, now() FROM users, unnest('{home,notifications}'::text[]) AS timeline;
    INSERT INTO idempotency SELECT 1 + id % 500, id::text, id, now() FROM statuses WHERE id < 5000;
    INSERT INTO actor_keys (key_id, actor_uri, public_key, fetched_at)
    SELECT 'https://a.test/' || n, 'https://a.test/' || n % 500, '', now() FROM generate_series(1, 5000) n;
    INSERT INTO hosts (host, created_at) SELECT 'd' || n || '.test', now() FROM generate_series(1, 5000) n;
    INSERT INTO outbox (id, queue, kind, partition_key, payload, due_at, created_at)
    SELECT n, 'q' || n % 3, 'x', 'account/' || n % 500, '{}', now(), now() FROM generate_series(1, 5000) n;
    INSERT INTO status_edits (id, status_id, text, content, content_type, spoiler_text, sensitive, created_at)
    SELECT id, id, '', '', 'text/plain', '', false, now() FROM statuses;
    INSERT INTO confirmations
    SELECT sha256(n::text::bytea), 1 + n % 500, 'u@x.test', now(), now() + interval '1 day' * n
    FROM generate_series(1, 3000) n;
    INSERT INTO blocked_domains (
        id, domain, severity, reject_media, reject_reports, obfuscate, created_at
    )
    SELECT n, 'b' || n || '.test', 'silence', false, false, false, now() FROM generate_series(1, 3000) n;
    INSERT INTO blocked_networks (id, network, severity, created_at, expires_at)
    SELECT n, ('10.' || n / 250 || '.' || n % 250 || '.0/24')::cidr, 'no_access', now(), now() + interval '1 day' * n
    FROM generate_series(1, 3000) n;
    INSERT INTO invites (id, code, created_at) SELECT n, 'code-no-' || n, now() FROM generate_series(1, 3000) n;
    INSERT INTO allowed_domains SELECT n, 'a' || n || '.test', now() FROM generate_series(1, 3000) n;
    INSERT INTO blocked_emails SELECT n, sha256(n::text::bytea), now() FROM generate_series(1, 3000) n;
    INSERT INTO blocked_email_domains
    SELECT n, 'd' || n || '.test', false, now() FROM generate_series(1, 3000) n;
    INSERT INTO email_domain_attempts
    SELECT n, current_date - d, '192.0.2.7', 1 FROM generate_series(1, 3000) n, generate_series(0, 6) d;
    INSERT INTO visits SELECT u.account_id, current_date - d, '10.1.0.0'::inet + (u.account_id % 60000), now()
    FROM users u, generate_series(1, 3) d;
    INSERT INTO dead_letters (id, address, kind, message, error, created_at)
    SELECT n, 'home/1', 'x', '{}', 'x', now() FROM generate_series(1, 3000) n;
"""

PAGE = (HIGH, LOW, 20)
NO_HANDLE = (None, None, "%")
PROFILE = (7, *PAGE, ["public", "unlisted"], True, True, None, 8)


def both(name: str, queries: tuple[str, str], *args: object) -> list[tuple[str, str, tuple[object, ...]]]:
    return [(f"{name}, newest first", queries[False], args), (f"{name}, oldest first", queries[True], args)]


NEW_KEY = idempotency.INSERT.bind(idempotency.KeyedStatus(1), account_id=7, key="6", now=NOW, expired_before=NOW)
DEVICES = f"SELECT push.* FROM notifications n, LATERAL ({push_subscriptions.wanting('n')}) push WHERE n.id = $1"

LISTED: dict[str, AccountFilter] = {
    "all": AccountFilter(),
    "local": AccountFilter(local=True),
    "remote": AccountFilter(local=False),
    "active": AccountFilter(statuses=frozenset({"active"})),
    "pending": AccountFilter(statuses=frozenset({"pending"})),
    "disabled": AccountFilter(statuses=frozenset({"disabled"})),
    "silenced": AccountFilter(statuses=frozenset({"silenced"})),
    "suspended": AccountFilter(statuses=frozenset({"suspended"})),
    "sensitized": AccountFilter(statuses=frozenset({"sensitized"})),
    "staff": AccountFilter(staff=True),
    "username": AccountFilter(username="u12"),
    "display name": AccountFilter(display_name="name 12"),
    "e-mail address": AccountFilter(email="u12@"),
    "e-mail domain": AccountFilter(email_domain="y.test"),
    "e-mail address or domain": AccountFilter(email="y.test", email_domain="y.test"),
    "domain": AccountFilter(domain="d7.test"),
    "invites": AccountFilter(invited_by=7),
    "network": AccountFilter(network="10.0.0.0/28"),
    "username and network": AccountFilter(local=True, username="u12", network="10.0.0.0/28"),
}


def listed(name: str, wanted: AccountFilter) -> list[tuple[str, str, tuple[object, ...]]]:
    newest, values = admin_accounts.page_query(wanted)
    oldest, _ = admin_accounts.page_query(wanted, oldest_first=True)
    return both(f"accounts for staff, {name}", (newest, oldest), *PAGE, *values)


QUERIES = [
    *(query for name, wanted in LISTED.items() for query in listed(name, wanted)),
    ("users for staff", admin_accounts.FIND_USERS, ([7, 8],)),
    *both("home", timelines.HOME, 7, *PAGE),
    *both("home with hashtags", timelines.HOME_WITH_TAGS, 7, *PAGE),
    *(
        query
        for (local, media), pair in timelines.PUBLIC.items()
        for query in both(f"public local={local} media={media}", pair, *PAGE)
    ),
    *both("profile", timelines.ACCOUNT, *PROFILE),
    *both("profile's media", timelines.ACCOUNT_MEDIA, *PROFILE),
    ("pins", timelines.PINNED, (7,)),
    *both("followers", follows.PAGE_FOLLOWERS, 101, *PAGE, [8, 9]),
    *both("following", follows.PAGE_FOLLOWING, 7, *PAGE, [8, 9]),
    *both("requests", follow_requests.PAGE, 102, *PAGE),
    *both("endorsements", endorsements.PAGE, 7, *PAGE, [8, 9]),
    *both("blocks", blocks.PAGE, 7, *PAGE),
    *both("blocked domains", domain_blocks.PAGE, 7, *PAGE),
    *both("mutes", mutes.PAGE, 7, *PAGE, NOW),
    ("waiting requests", follow_requests.WAITING, (102, NOW, 100)),
    ("followers from a domain", follows.FROM_DOMAIN, (101, "d0.test", 100)),
    ("familiar followers", relations.FAMILIAR, (7, [1, 101, 201], 40)),
    ("pair_relations", relations.PAIR_RELATIONS, ([7, 8], [1, 101])),
    *(
        (f"directory, {order}, local={local}", query, ([1, 2], ["d1.test"], 40, 0))
        for (order, local), query in directory.PAGES.items()
    ),
    ("accounts by handle", search.ACCOUNTS, ("u12", "u12~", "%", None, None, "u12", "", 7, False, False, 40, 0)),
    ("accounts by words", search.ACCOUNTS, (*NO_HANDLE, "'u12':*", "'u12':*", "", "", 7, False, False, 40, 0)),
    ("accounts whose names are not folded", account_names.FIND_UNFOLDED, (200,)),
    ("tags by name", search.TAGS, ("t12", "t12", False, 20, 0)),
    ("first stretch of a search for statuses", status_search.BOUNDS, (HIGH, LOW)),
    (
        "statuses of a stretch by words",
        status_search.OF_INDEX,
        (*ONLOOKER, "'w7'", HIGH, LOW, 1000, 20, True, "'*'", "'*'"),
    ),
    ("statuses of a library by words", status_search.OF_LIBRARY, (*ONLOOKER, "'w7'", HIGH, LOW, 20)),
    ("found statuses", status_search.ENTRIES, ([7, 8],)),
    ("waiting media of an account", media.DUE, ("main", 7, NOW)),
    ("accounts with waiting media", media.ACCOUNTS_WAITING, ("main", NOW, [7, 8], 100)),
    ("next retry of media", media.NEXT_RETRY, ("main", NOW)),
    ("how many media wait", media.COUNT_WAITING, (7,)),
    ("a try of a medium", media.COUNT_TRY, (7,)),
    ("loose media", media.DELETE_LOOSE, (NOW, 100)),
    ("uses of tags", tags.USES, ([1, 2, 3], [100, 200, 300])),
    ("trending tags", trends.TAGS, ([100, 200, 300], 5, NOW)),
    ("trending links", trends.LINKS, ([100, 200, 300], 5, NOW)),
    *both("statuses with a link", timelines.LINK, 7, *PAGE),
    ("trending statuses", trends.STATUSES, (100, 5)),
    ("review of a publisher", trend_reviews.REVIEW_PUBLISHER, ("d1.test", True, NOW)),
    ("review of a link", trend_reviews.REVIEW_LINK, (7, True, NOW)),
    ("review of an author", trend_reviews.REVIEW_AUTHOR, (7, True, NOW)),
    ("review of a status", trend_reviews.REVIEW_STATUS, (7, True, NOW)),
    ("decisions on publishers", trend_reviews.FIND_PUBLISHERS, (["d1.test"],)),
    ("decisions on links", trend_reviews.FIND_LINKS, ([7],)),
    ("decisions on authors", trend_reviews.FIND_AUTHORS, ([7],)),
    ("decisions on statuses", trend_reviews.FIND_STATUSES, ([7],)),
    ("review of a tag", tags.REVIEW, ("t7", True, NOW)),
    ("dismissed announcements", announcements.DISMISSED, (7,)),
    ("reactions", announcements.REACTIONS, ([1, 2], 7)),
    ("kinds of reactions", announcements.KINDS, (1, "e1")),
    ("count of a reaction", announcements.COUNT, (1, "e1")),
    *both("custom emoji of this server", custom_emojis.PAGE, *PAGE),
    ("a custom emoji", custom_emojis.FIND, (7,)),
    ("emoji of a domain and those below it", custom_emojis.COUNT_BELOW, ("tset.reep", 100)),
    ("known emoji of a domain", custom_emojis.KNOWN, ("there.test", ["a", "b"])),
    ("old states of a status", edits.THIN_OUT, (7, 99)),
    ("old keys of an actor", actor_keys.THIN_OUT, ("https://there.test/users/1", 20)),
    ("known hashtags", tags.KNOWN, (["a", "b"],)),
    ("custom emoji by name", custom_emojis.DELETE, (["a", "b"],)),
    ("suggestions", suggestions.FIND.text, (None,) * len(suggestions.FIND.names)),
    ("popular accounts", suggestions.POPULAR, (NOW, 200)),
    ("end of a suggestion", suggestions.END, (7, 8, 9)),
    ("dismissed suggestion", suggestions.DISMISS, (7, 8)),
    ("ends of suggestions that are over", expiry.ENDED_SUGGESTIONS.statement, (10, 500)),
    ("featured tags", featured_tags.OF_ACCOUNT, (7,)),
    ("count of a featured tag", featured_tags.INSERT, (1, 7, 8, "x", NOW)),
    ("counts of featured tags", featured_tags.RECOUNT, (6, [7, 8])),
    ("suggested tags", featured_tags.SUGGESTIONS, (7, featured_tags.LATEST, 10)),
    *both("followed tags", followed_tags.PAGE, 7, *PAGE),
    ("all followed tags", followed_tags.OF_ACCOUNT, (7,)),
    ("end of the follow of a tag", followed_tags.DELETE, (7, "t1")),
    ("follow of a tag", followed_tags.INSERT, (1, 7, 8, NOW)),
    ("filters", filters.OF_ACCOUNT, (7,)),
    ("filters of several", filters.OF_ACCOUNTS, ([7, 8],)),
    ("change of a filter", filters.CHANGE.text, (None,) * len(filters.CHANGE.names)),
    ("end of a filter", filters.DELETE, (8, 7)),
    ("keywords of a filter", filters.PUT_KEYWORDS.text, (None,) * len(filters.PUT_KEYWORDS.names)),
    ("end of keywords", filters.DELETE_KEYWORDS, (7, [7, 8])),
    ("status that a filter names", filters.INSERT_STATUS, (1, 7, 8, NOW)),
    ("end of statuses that a filter names", filters.DELETE_STATUSES, (7, [7, 8])),
    ("tag by name", tags.FIND, ("t7",)),
    ("deletion of a status", deletions.DELETE, ([7], NOW)),
    *both("scheduled statuses", scheduled_statuses.PAGE, 7, *PAGE),
    ("scheduled status", scheduled_statuses.FIND, (6, 7)),
    ("how many are scheduled", scheduled_statuses.COUNT, (7, NOW, 6)),
    ("end of a scheduled status", scheduled_statuses.DELETE, (6, 7, NOW)),
    ("key of what was scheduled", idempotency.PUBLISH, (7, 6, 7)),
    *both("list", lists.ENTRIES, 7, *PAGE),
    *both("members of a list", lists.PAGE, 7, *PAGE),
    ("lists", lists.ALL, (7,)),
    ("exclusive members", lists.EXCLUSIVE, (7,)),
    ("lists that hold", lists.HOLDING, (7, 101)),
    ("local followers", follows.LOCAL_FOLLOWERS, (501, LOW, 100, NOW)),
    ("digests of followers on other servers", follower_lists.DIGESTS, (101,)),
    ("digest of followers on this server", follower_lists.DIGEST_HERE, (501,)),
    ("followers of a host", follower_lists.PAGE, (101, "https://d0.test", LOW, 100)),
    ("followers on this server", follower_lists.PAGE_HERE, (501, NOW, LOW, 100)),
    ("followers that are not known", follower_lists.UNKNOWN, (501, ["https://troupe.test/users/u7"], 100)),
    ("followers since before a time", follower_lists.BEGUN_BEFORE, (501, [7], NOW)),
    *both("notifications", notifications.PAGE, 7, *PAGE, None, ["mention"], None, False),
    ("devices that want a notification", DEVICES, (7,)),
    ("push subscription of a token", push_subscriptions.FIND, (7,)),
    ("push subscription to send to", push_subscriptions.FIND_LIVE, (7,)),
    ("unread notifications", notifications.UNREAD, (7, 100, None, ["mention"], None)),
    *both("groups", notification_groups.PAGES, 7, *PAGE, None, ["mention"], None, ["favourite"], False),
    ("group", notification_groups.ONE, (7, "favourite-7-1", None)),
    ("group of one", notification_groups.ONE, (7, "ungrouped-7", 7)),
    ("members of a group", notification_groups.MEMBERS, (7, "favourite-7-1", None, 100)),
    ("unread groups", notification_groups.UNREAD, (7, *PAGE, None, ["mention"], None, ["favourite"], False)),
    *both("notification requests", notification_requests.PAGE, 7, *PAGE),
    ("notification request", notification_requests.FIND, (7, 14)),
    ("pending notification requests", notification_requests.PENDING, (7,)),
    ("closed notification requests", notification_requests.CLOSE, (7, [14])),
    ("merged notifications", notification_requests.MERGE, (7, [14])),
    ("dismissed notifications", notification_requests.FORGET, (7, [14])),
    ("notification policy", notification_policy.FIND, (7,)),
    ("new notifications", notifications.INSERT.text, (None,) * len(notifications.INSERT.names)),
    ("earlier letters", conversations.COLLECT, ([1, 2], [100, 200], 7)),
    *both("all hashtags", tags.ALL, *PAGE),
    *both("open appeals", strikes.APPEALS, *PAGE),
    *both("hashtags", tags.PAGE, *PAGE, ["t7", "t8"], ["t9"], ["t10"], None, True),
    *both("conversations", conversations.PAGE, 7, *PAGE),
    ("conversations with an account", conversations.FORGET, (7, 8)),
    ("conversations that end with a status", conversations.RETRACT, (7,)),
    ("markers", markers.FIND, (7, ["home"])),
    *both("favourites", favourites.PAGE, 7, *PAGE),
    *both("favourites of a status", favourites.PAGE_OF_STATUS, 7, *PAGE, [8, 9]),
    *both("bookmarks", bookmarks.PAGE, 7, *PAGE),
    *both("boosts", reblogs.PAGE, 12, *PAGE, [8, 9]),
    ("who has boosted", reblogs.REBLOGGERS, (12,)),
    *both("quotes", quotes.PAGE, 7, *PAGE),
    ("quoted status", quotes.LOCK_QUOTED, (7,)),
    ("quotes of a status", quotes.LOCK_OF, (7,)),
    ("quotes between two accounts", quotes.LOCK_BETWEEN, ([14, 8],)),
    ("quote to revoke", quotes.LOCK_ONE, (13, 7, 8)),
    ("end of quotes", quotes.END, ([13], [14], "revoked", [7])),
    ("boosts of quotes", quotes.REBLOGGERS, ([12, 13],)),
    ("who quotes", quotes.QUOTING, (7,)),
    ("notifications of earlier edits", quotes.WITHDRAW_UPDATES, ([13],)),
    ("edits of a status", edits.HISTORY, (7,)),
    ("card of a page", preview_cards.HOLD, ("https://p/7",)),
    ("page to store", preview_cards.STORE.text, (None,) * len(preview_cards.STORE.names)),
    ("statuses with a card", preview_cards.STATUSES, (7,)),
    ("cards that may be unused", preview_cards.LOCK_SOME, (0, NOW, 500)),
    ("cards that are unused", preview_cards.DELETE_UNUSED, ([7, 8],)),
    ("latest edits", edits.LATEST, (list(range(1, 21)), LOW)),
    (
        "who waits for an author's statuses",
        notifications.WAITING.format(account="$1::bigint", language="$2::text"),
        (101, "en"),
    ),
    ("notifications of what is taken back", notifications.WITHDRAW_FROM, (7, "favourite", 7)),
    ("who takes part in a thread", conversation_mutes.TAKES_PART, (7, 7)),
    ("status of a poll", polls.STATUS_OF, (7,)),
    ("voters", polls.VOTERS, (7,)),
    ("reminders of a poll", outbox.FORGET, ("poll/7",)),
    ("pins of an account", pins.PINNED, (7,)),
    *both("dead letters", dead_letters.PAGE, *PAGE),
    ("effects due", outbox.DUE, (NOW, "q1", [1, 2], ["account/7"], "", 10, 100, [7, 8])),
    ("facts of some shards", outbox.FACTS_OF, ("q1", [7, 8])),
    ("effects that are not done", outbox.STILL_THERE, ([7, 8],)),
    ("effect that waits", outbox.WAITS, ("account/7",)),
    ("any effect under a key", outbox.EXISTS, ("account/7",)),
    ("effects under a key", outbox.UNDER, ("account/7", 200)),
    ("inboxes for a status", activities.OF_ACCOUNTS, (7, [7, 8], 1, 12, 12)),
    ("inboxes of acquaintances", activities.OF_ACQUAINTANCES, (7, 7)),
    ("next inboxes of all", activities.NEXT_OF_ALL, (7, "https://x/507/inbox", 20)),
    ("account with an inbox", remote_accounts.WITH_INBOX, ("d7.test", "https://x/507/inbox")),
    ("activities of an account", activities.KEEP_KEY, (7, "pem")),
    ("activity to deliver", activities.FIND, (7,)),
    ("follows between servers", follows.REMOTE, ([7, 501], [501, 7])),
    ("waiting effects of a group", hosts.MAKE_DUE, (["account/7"], NOW, "q1")),
    ("effects of a group to drop", hosts.DROP, (["account/7"], "q1")),
    ("effects to claim", outbox.CLAIM, ([7, 8], 1, NOW, NOW)),
    ("claims to renew", outbox.RENEW, ([7, 8], 1, NOW, NOW)),
    ("claims to give back", outbox.RELEASE, ([7, 8], 1, [8])),
    ("activities about a thing", activities.OF_SUBJECT, (7, "https://troupe.test/users/u7/statuses/7")),
    ("activities about things", activities.OF_SUBJECTS, (7,)),
    ("deliveries that were not begun", activities.UNTRIED, (["account/7"], "q1", [7, 8])),
    ("effect that is done", outbox.DELETE_CLAIMED, (7, 1)),
    ("statuses", statuses.FIND_MANY, (list(range(1, 21)),)),
    ("ancestors", timeline_entries.ANCESTORS, (20, 40)),
    ("replies for other servers", timeline_entries.REPLIES, (19, 0, 40)),
    ("a reader of another server", peer_readers.FIND, ("https://x/600", 7, "d1.test")),
    ("unsent activities", peer_readers.UNSENT, (7,)),
    ("descendants", timeline_entries.DESCENDANTS, (19, 60, 20)),
    ("flags", status_flags.FLAGS, (7, list(range(1, 21)))),
    ("boosts of a status", deletions.REBLOGS, (12,)),
    ("accounts", accounts.FIND_MANY, (list(range(1, 21)),)),
    ("account by handle", accounts.FIND_BY_ACCT, ("u600", "d0.test")),
    ("accounts by names", accounts.FIND_LOCAL_MANY, (["u7", "u8"],)),
    ("user by address", users.FIND_BY_EMAIL, ("u7@x.test",)),
    ("user by name", users.FIND_BY_NAME, ("u7",)),
    ("followed accounts", relations.FOLLOWING, (7,)),
    ("sets of relations", relations.SETS, (7,)),
    ("accounts that several follow", relations.FOLLOWING_OF_MANY, ([7, 8],)),
    ("sets of relations of several", relations.SETS_OF_MANY, ([7, 8],)),
    ("relationships", relations.RELATIONSHIPS, (7, [1, 2, 3], NOW)),
    *((f"export of {kind}", query, (7, LOW, 500, "x")) for kind, query in exports.QUERIES.items()),
    *((f"surplus of {kind}", query, (7, 7, 20)) for kind, query in imports.SURPLUS.items()),
    ("surplus of domain blocks", imports.SURPLUS_DOMAINS, (7, 7, 20)),
    ("surplus of members", imports.SURPLUS_MEMBERS, (7, 7, 20)),
    ("imports of an account", imports.LATEST, (7, 10)),
    ("an import that runs", imports.IS_RUNNING, (7, "blocks")),
    ("lines of an import", imports.READY, (7, 20)),
    ("lines that wait for a target", imports.IS_WAITED_FOR, (7, "t1")),
    ("standing of an import", imports.STANDING, (7,)),
    ("failures of an import", imports.FAILURES, (7, 7, 0, 500)),
    ("status of an import", imports.STATUS_OF, ("https://x/s/7",)),
    ("list of an import", imports.LIST_OF, (7, "x")),
    ("apps of an account", oauth.AUTHORIZED, (7, 200)),
    ("sessions of an account", sessions.OF_ACCOUNT, (7, NOW, 50)),
    ("session", sessions.FIND, (b"x" * 32, NOW)),
    ("revoked tokens of an account", sessions.REVOKED_TOKENS, (7,)),
    ("link to a new password", passwords.FIND_RESET, (b"x" * 32, NOW)),
    ("link to a new address", email_changes.FIND, (b"x" * 32, NOW)),
    ("two-factor", two_factor.FIND, (7,)),
    ("challenge", two_factor.FIND_CHALLENGE, (b"x" * 32, NOW, 5)),
    *((f"left of a deleted account: {name}", query, (7, 20)) for name, query in account_deletions.LEFT.items()),
    ("token", oauth.FIND_TOKEN, (b"x" * 32,)),
    ("client", oauth.FIND_CLIENT, ("c7",)),
    ("link of a mail", registration.FIND_CONFIRMATION, (b"x" * 32, NOW)),
    ("links that are over", expiry.CONFIRMATIONS.statement, (NOW, 500)),
    ("codes that are over", expiry.GRANTS.statement, (NOW, 500)),
    ("sessions that are over", expiry.SESSIONS.statement, (NOW, 500)),
    ("old dead letters", expiry.DEAD_LETTERS.statement, (10**18, 500)),
    ("tokens revoked long ago", expiry.REVOKED_TOKENS.statement, (NOW, 500)),
    ("unconfirmed sign-ups", expiry.SIGN_UPS.statement, (NOW, NOW, NOW, 500)),
    *both("server-wide blocks of domains", table_of(BlockedDomain).page, *PAGE),
    ("accounts of blocked domains", blocked_domains.MARK, (["d1.test"], [NOW], None, NOW, NOW)),
    *both("allowed domains", table_of(AllowedDomain).page, *PAGE),
    ("allowed domain", table_of(AllowedDomain).find_by_key, ("a7.test",)),
    *both("blocks of networks", table_of(BlockedNetwork).page, *PAGE),
    *both("blocks of addresses", table_of(BlockedEmail).page, *PAGE),
    ("block of a network", table_of(BlockedNetwork).find_by_key, ("10.1.7.0/24",)),
    ("block of an address", table_of(BlockedEmail).find_by_key, (b"x" * 32,)),
    *both("blocks of e-mail domains", table_of(BlockedEmailDomain).page, *PAGE),
    ("blocks among e-mail domains", blocked_emails.FIND_AMONG, (["d1.test", "d2.test"],)),
    ("attempts to sign up", blocked_emails.HISTORY, ([1, 2], NOW.date())),
    ("attempt to sign up", blocked_emails.COUNT, ([1, 2], NOW.date(), "192.0.2.7")),
    ("addresses that users have", users.TAKEN_EMAILS, (["u7@x.test"],)),
    ("blocks of networks that are over", expiry.NETWORK_BLOCKS.statement, (NOW, 500)),
    ("old attempts to sign up", expiry.EMAIL_ATTEMPTS.statement, (NOW.date(), 500)),
    ("old visits", expiry.VISITS.statement, (NOW.date(), 500)),
    ("addresses of users", visits.ADDRESSES, ([7, 8],)),
    ("invite by code", invites.IS_VALID, ("code-no-7", NOW)),
    ("use of an invite", invites.USE, ("code-no-7", NOW)),
    ("end of an invite", invites.EXPIRE, ("code-no-7", NOW)),
    ("effects of some groups", outbox.COUNT_GROUPS, ("inbox", "unverified ", 5000)),
    ("servers that are unknown here", expiry.HOSTS.statement, (NOW, 500)),
    ("keys of other servers", expiry.ACTOR_KEYS.statement, (NOW, 500)),
    ("statuses that were deleted long ago", expiry.STATUSES.statement, (NOW, 500)),
    ("number of statuses that were deleted long ago", expiry.COUNT_STATUSES, (NOW,)),
    ("reported status", reports.NAMES_STATUS, (7,)),
    ("open report about an account", reports.HAS_OPEN, (7,)),
    ("notes on a report", reports.NOTES, (7, 100)),
    ("statuses of reports", statuses.FIND_STORED, ([7, 997],)),
    *(
        (f"reports: {wanted}", query, (10**18, 0, 100, *values))
        for wanted in (
            ReportFilter(),
            ReportFilter(account_id=7),
            ReportFilter(target_account_id=7),
            ReportFilter(account_id=7, target_account_id=8),
            ReportFilter(resolved=True),
            ReportFilter(resolved=True, account_id=7),
            ReportFilter(resolved=True, target_account_id=7),
        )
        for queries, values in [reports.page_query(wanted)]
        for query in queries
    ),
    ("idempotency key", idempotency.FIND, (7, "6", NOW)),
    ("expired idempotency keys", NEW_KEY[0], NEW_KEY[1:]),
]


Explain = Callable[[str, tuple[object, ...]], str]


@pytest.fixture(scope="module")
def explain(databases: Databases) -> Iterator[Explain]:
    name = databases.take()
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        db = runner.run(connect(databases.named(name), application_name="test", deadline=60))
        # Without looking up each row that another one refers to: that is a third of the time.
        runner.run(db.execute(f"SET session_replication_role = replica; {FILL} RESET session_replication_role"))
        runner.run(db.execute("ANALYZE"))

        def explained(query: str, args: tuple[object, ...]) -> str:
            return runner.run(plan_of(db, query, args))

        yield explained
        runner.run(db.close())
    databases.give_back(name)


def page_queries() -> Iterator[tuple[str, str]]:
    """Yield each constant that `both_ways` has made, with both of its queries."""
    for module in walk_packages(storage.__path__, "troupe.storage."):
        for name, value in vars(import_module(module.name)).items():
            match value:
                case (str(newest), str(oldest)) if newest != oldest and newest.replace("DESC", "ASC") == oldest:
                    yield f"{module.name}.{name}", newest
                    yield f"{module.name}.{name}", oldest
                case _:
                    pass


def test_every_page_query_is_here() -> None:
    explained = {query for _, query, _ in QUERIES}
    found = [*page_queries()]
    assert len(found) > 30
    assert {name for name, query in found if query not in explained} == set(), "add a row for it to QUERIES"


def test_no_batch_of_a_deleted_account_scans_a_table(explain: Explain, stage: Stage) -> None:
    columns = stage(account_deletions.plain_columns)
    # A table that `FILL` leaves empty is scanned. An account has so many of the few requests that a scan is the better
    # plan. `test_account_columns.py` holds that each column has an index.
    filled = [one for one in columns if f"INTO {one.table} " in FILL and one.table != "notification_requests"]
    assert len(filled) > 20
    plans = {one: explain(account_deletions.batch(one), (7, 1000)) for one in filled}
    assert {one: plan for one, plan in plans.items() if "Seq Scan on" in plan} == {}


async def plan_of(db: Any, query: str, args: tuple[object, ...]) -> str:
    """Return the plan of every execution, for all arguments: connections plan each statement once."""
    await db.execute(f"PREPARE explained AS {query}")
    rows = await db.fetch(f"EXPLAIN EXECUTE explained ({', '.join('NULL' for _ in args)})")
    await db.execute("DEALLOCATE explained")
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize(("name", "query", "args"), QUERIES, ids=[name for name, _, _ in QUERIES])
def test_no_page_query_scans_a_table(explain: Explain, name: str, query: str, args: tuple[object, ...]) -> None:
    plan = explain(query, args)
    assert "Seq Scan on" not in plan, f"{name}:\n{plan}"
