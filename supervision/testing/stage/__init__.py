"""Troupe under the simulator: its actors, database and API as the world of a scenario, and its users.

@simulation(seeds=200, faults=3, world=stage)
async def test_a_follower_sees_everything(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
"""

from .api import Dropped
from .patience import insist
from .people import PAGE, Person, token_of
from .postgres import sandbox, with_database
from .simulation import Simulation, stage
from .stream import FeedStream, Stream
from .two_servers import TwoServers, two_servers

__all__ = [
    "PAGE", "Dropped", "FeedStream", "Person", "Simulation", "Stream", "TwoServers", "insist", "sandbox", "stage",
    "token_of", "two_servers", "with_database",
]  # fmt: skip
