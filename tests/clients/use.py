# SPDX-License-Identifier: MIT
"""With the client that openapi-python-client made: push, pop, acknowledge."""
import sys

from pawl_client import AuthenticatedClient
from pawl_client.api.queues import ack, pop, push
from pawl_client.models import AcknowledgeOne, PushOne

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
pushed = push.sync("made", client=client, body=PushOne(item={"n": 1}, priority=5), idempotency_key="k")
assert pushed.success and pushed.duplicate is False, pushed
got = pop.sync("made", client=client, require_ack=True)
assert got.items == [{"n": 1}] and got.count == 1 and got.locked, got
done = ack.sync("made", client=client, body=AcknowledgeOne(lock_id=got.lock_id))
assert done.items_acknowledged == 1, done
assert pop.sync("made", client=client).items == []
print("ok")
