// A server that is killed while operators judge held usage: each batch is judged once. That an
// acknowledged write is kept whole is shown on each submission by durability.death.
import { expect, test } from 'vitest';
import { eachDatabase } from '../../server/test/databases.ts';
import { prepareSubject } from '../../server/test/durability.ts';
import { ServerProcess } from '../../server/test/server_process.ts';

const rate = 1_000_000;
const kills = 4;

eachDatabase((database) => {
  test('however the server is killed, a held batch is judged once, and what it answered is kept', async () => {
    const settings = ServerProcess.settings({
      EXITWARD_DATABASE_URL: await database.url(),
      EXITWARD_NODE_MAX_BYTES_PER_SECOND: String(rate),
    });
    let server = await ServerProcess.start(settings);
    const { node_token } = await prepareSubject(server);
    const at = Math.floor(Date.now() / 1000);
    const bytesOf = (number: number) => 10 ** 12 + 2 ** number;
    for (let number = 1; number <= 16; number += 1) {
      const rows = [{ account: 1, user: 1, at, up: bytesOf(number), down: 0 }];
      const response = await fetch(`${server.node_url}/node/usage`, {
        method: 'POST',
        headers: { authorization: `Bearer ${node_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ boot: 'b', seq: number, rows }),
      });
      expect(await response.json()).toMatchObject({ held: true });
    }
    const answered = { accepted: new Set<number>(), discarded: new Set<number>() };
    const listed = async () =>
      (await server.operator.get('/held_usage')).body as Array<{ id: number; seq: number }>;
    for (let round = 0; round < kills; round += 1) {
      const work = (await listed()).slice(0, 6).map(async ({ id, seq }, index) => {
        const accept = async () => {
          const { status } = await server.operator.post(`/held_usage/${id}/accept`, undefined);
          if (status === 200) answered.accepted.add(seq);
        };
        const discard = async () => {
          const { status } = await server.operator.delete(`/held_usage/${id}`);
          if (status === 204) answered.discarded.add(seq);
        };
        await new Promise((resolve) => setTimeout(resolve, index * 3));
        await Promise.allSettled(index % 3 === 0 ? [accept(), discard()] : [accept(), accept()]);
      });
      await new Promise((resolve) => setTimeout(resolve, 5 + round * (24 / kills)));
      await server.end('SIGKILL');
      await Promise.all(work);
      server = await ServerProcess.start(settings);
    }
    const remaining = (await listed()).map(({ seq }) => seq);
    const audit = (await server.operator.get('/audit?limit=500')).body as Array<{
      action: string;
      before: { seq: number };
    }>;
    const judged = (action: string) =>
      audit.filter((entry) => entry.action === action).map(({ before }) => before.seq);
    const accepted = judged('held_usage.accept');
    const discarded = judged('held_usage.discard');
    const all = [...remaining, ...accepted, ...discarded].sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
    expect(accepted).toEqual(expect.arrayContaining([...answered.accepted]));
    expect(discarded).toEqual(expect.arrayContaining([...answered.discarded]));
    const { total } = (await server.operator.get('/accounts/acme/usage')).body;
    expect(total).toBe(accepted.reduce((sum, number) => sum + bytesOf(number), 0));
    await server.end('SIGTERM');
  });
});
