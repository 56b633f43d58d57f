"""Requests to other servers, as an operator sees them."""

from .server import Server


def test_a_server_that_lets_requests_leave_for_private_addresses_warns_at_start(own_server: Server) -> None:
    own_server.settings["TROUPE_TEST_HOSTS"] = "push.test, other.test"
    own_server.start()
    (record,) = own_server.events("test_hosts.allowed")
    assert record["level"] == "warning"
    assert "push.test, other.test" in str(record["decision"])
    assert own_server.stop() == 0
    del own_server.settings["TROUPE_TEST_HOSTS"]
    own_server.start()
    assert len(own_server.events("test_hosts.allowed")) == 1
    assert own_server.stop() == 0
