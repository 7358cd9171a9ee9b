// SPDX-License-Identifier: MIT
// With the client that openapi-generator made (typescript-fetch): push, pop, acknowledge.
import { Configuration, QueuesApi } from './client';

declare const process: { argv: string[]; exit(status: number): never };
declare const console: { log(text: unknown): void };

async function use(): Promise<void> {
    const api = new QueuesApi(new Configuration({ basePath: process.argv[2], accessToken: process.argv[3] }));
    const pushed = await api.push({ queue: 'made', push: { item: { n: 1 }, priority: 5 }, idempotencyKey: 'k' });
    if (!pushed.success || pushed.duplicate !== false) throw new Error(JSON.stringify(pushed));
    const got = await api.pop({ queue: 'made', requireAck: true });
    if (JSON.stringify(got.items) !== '[{"n":1}]' || got.count !== 1) throw new Error(JSON.stringify(got));
    const done = await api.ack({ queue: 'made', acknowledge: { lockId: got.lockId! } });
    if (done.itemsAcknowledged !== 1) throw new Error(JSON.stringify(done));
    if ((await api.pop({ queue: 'made' })).items.length !== 0) throw new Error('something is left');
    console.log('ok');
}

use().catch((error) => {
    console.log(error);
    process.exit(1);
});
