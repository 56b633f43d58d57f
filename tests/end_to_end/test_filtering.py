"""What a user does not want to read, or to be notified of, in a client that knows nothing of Troupe: Mastodon.py."""

import pytest
from mastodon import MastodonAPIError, MastodonNotFoundError

from .server import Server, follow


def test_a_user_filters_words_in_both_versions(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    follow(bob, [ada])
    reader = bob.app
    made = reader.filter_create("zebra", ["home", "notifications"], irreversible=True)
    assert (made.phrase, made.irreversible, made.whole_word) == ("zebra", True, True)
    hidden, shown = ada.app.status_post("A zebra"), ada.app.status_post("A lion")
    assert [status.id for status in reader.timeline_home()] == [shown.id]
    changed = reader.filter_update(made, phrase="lion", context=["home"], irreversible=False)
    assert (changed.phrase, changed.irreversible) == ("lion", False)
    assert [(status.id, len(status.filtered)) for status in reader.timeline_home()] == [(shown.id, 1), (hidden.id, 0)]
    assert [one.id for one in reader.filters()] == [made.id]
    assert [keyword.keyword for one in reader.filters_v2() for keyword in one.keywords] == ["lion"]
    reader.filter_delete(made)
    assert reader.filters() == []

    group = reader.create_filter_v2("Animals", ["home"], "warn", keywords_attributes=[{"keyword": "lion"}])
    keyword = reader.add_filter_keyword_v2(group, "zebra", whole_word=True)
    assert [one.keyword for one in reader.filter_keywords_v2(group)] == ["lion", "zebra"]
    entry = reader.add_filter_status_v2(group, hidden)
    assert [one.status_id for one in reader.filter_statuses_v2(group)] == [hidden.id]
    (_, first) = reader.timeline_home()
    assert (first.filtered[0].filter.title, first.filtered[0].keyword_matches) == ("Animals", ["zebra"])
    reader.delete_filter_keyword_v2(keyword)
    reader.delete_filter_status_v2(entry)
    assert [len(status.filtered) for status in reader.timeline_home()] == [1, 0]
    assert reader.update_filter_v2(group, filter_action="hide").filter_action == "hide"
    assert [status.id for status in reader.timeline_home()] == [hidden.id]
    reader.delete_filter_v2(group)
    with pytest.raises(MastodonNotFoundError):
        reader.filter_v2(group)


def test_a_user_accepts_some_senders_and_not_others(server: Server) -> None:
    ada, bob, eve = server.people("ada", "bob", "eve")
    reader = ada.app
    assert reader.notifications_policy().for_not_following == "accept"
    assert reader.update_notifications_policy(for_not_following="filter").for_not_following == "filter"
    said = {person.name: person.app.status_post(f"@{ada.name} hello") for person in (bob, eve)}
    assert reader.notifications() == []
    assert reader.notifications_policy().summary.pending_requests_count == 2
    of_eve, of_bob = reader.notification_requests()
    assert (of_eve.account.id, of_bob.account.id) == (eve.id, bob.id)
    assert reader.notification_request(of_bob).last_status.id == said[bob.name].id
    reader.accept_notification_request(of_bob)
    reader.dismiss_notification_request(of_eve)
    assert reader.notifications_merged()
    assert [one.status.id for one in reader.notifications()] == [said[bob.name].id]
    assert reader.notification_requests() == []
    again = [person.app.status_post(f"@{ada.name} again") for person in (bob, eve)]
    assert [one.status.id for one in reader.notifications()] == [again[0].id, said[bob.name].id]
    assert [one.account.id for one in reader.notification_requests()] == [eve.id]


def test_a_user_chooses_what_a_device_is_told(server: Server) -> None:
    (ada,) = server.people("ada")
    _, public = ada.app.push_subscription_generate_keys()
    with pytest.raises(MastodonAPIError):
        ada.app.push_subscription()
    made = ada.app.push_subscription_set("https://push.example.org/ada", public, mention_events=True, policy="followed")
    assert (made.alerts.mention, made.alerts.favourite, made.policy) == (True, False, "followed")
    assert made.server_key
    changed = ada.app.push_subscription_update(favourite_events=True)
    assert (changed.alerts.mention, changed.alerts.favourite) == (False, True)
    assert ada.app.push_subscription().id == made.id
    ada.app.push_subscription_delete()
    with pytest.raises(MastodonNotFoundError):
        ada.app.push_subscription()
