// Codes: errors that a program decides on say which one they are, apart from the sentence for
// people.
import { beforeAll, describe, expect, it } from 'vitest';
import { eachApp } from './apps.ts';
import type { Answer } from './harness.ts';
import type { TestNode } from './node.ts';

const day = 86_400;

eachApp((t) => {
  let node: TestNode;

  beforeAll(async () => {
    await t.server('fra1', { exit_ips: ['198.51.100.1', '198.51.100.2'] });
    await t.server('ams1', { exit_ips: ['198.51.100.3'] });
    await t.account('acme', { servers: ['fra1'] });
    node = await t.node('fra1');
    await node.snapshot();
  });

  describe('operators', () => {
    const account = { name: 'acme', plan: 'p', expiry: 4_000_000_000, limit_bytes: 1 };
    const place = { title: 'T', city: 'C', country: 'DE', latitude: 1, longitude: 1 };
    const server = { name: 'fra1', hostname: 'new.example', services: ['proxy'], ...place };
    const cases: Array<[string, number, string | undefined, () => Promise<Answer>]> = [
      ['name_taken', 409, 'name', () => t.operator.post('/accounts', account)],
      ['name_taken', 409, undefined, () => t.operator.post('/servers', server)],
      [
        'unknown_port_scheme',
        409,
        'port_scheme',
        () => t.operator.patch('/accounts/acme', { port_scheme: 'none' }),
      ],
      [
        'hostname_taken',
        409,
        'hostname',
        async () => {
          const { hostname } = (await t.operator.get('/servers/ams1')).body;
          return t.operator.patch('/servers/fra1', { hostname });
        },
      ],
      [
        'address_taken',
        409,
        undefined,
        () => t.operator.put('/servers/fra1/exits/198.51.100.3', { port_base: 9 }),
      ],
      [
        'port_taken',
        409,
        'port_base',
        () => t.operator.put('/servers/fra1/exits/198.51.100.1', { port_base: 2 }),
      ],
      ['server_in_use', 409, undefined, () => t.operator.delete('/servers/fra1')],
      ['last_token', 409, undefined, () => t.operator.delete('/tokens/1')],
      ['inventory_invalid', 400, undefined, () => t.operator.post('/inventory', { servers: [{}] })],
    ];
    it.each(cases)('read %s with %i, and the field %s', async (code, status, field, call) => {
      const answer = await call();
      expect([answer.status, answer.body.code, answer.body.field]).toEqual([status, code, field]);
    });
  });

  describe('nodes', () => {
    const read = async (response: Response) => {
      const { code, field } = (await response.json()) as { code?: string; field?: string };
      return [response.status, code, field];
    };
    const row = { account: 1, user: 1, up: 1, down: 1 };

    it('read that an invitation does not count, or their token', async () => {
      const join = { code: 'ewi_none', name: 'n', version: 'v' };
      expect(await read(await node.send('POST', '/join', join))).toEqual([
        401,
        'invite_unknown',
        undefined,
      ]);
      const stranger = { authorization: 'Bearer ewn_none' };
      expect(await read(await node.send('GET', '/snapshot', undefined, stranger))).toEqual([
        401,
        'node_token_unknown',
        undefined,
      ]);
    });

    it('read that they need a new snapshot', async () => {
      const other = { epoch: 'another', revision: 1 };
      expect(await read(await node.send('POST', '/acks', other))).toEqual([
        409,
        'snapshot_needed',
        undefined,
      ]);
    });

    it('read which row of a usage report is at fault', async () => {
      const rows = [
        { ...row, at: t.now() },
        { ...row, at: t.now() - 41 * day },
      ];
      expect(await read(await node.send('POST', '/usage', { boot: 'b', seq: 1, rows }))).toEqual([
        400,
        'row_invalid',
        'rows.1.at',
      ]);
    });

    it('read that a question is over', async () => {
      const answer = { verdict: 'allow', status: 200, reason: 'r', message: 'm', revision: 1 };
      expect(await read(await node.send('POST', '/answers', { id: 99, answer }))).toEqual([
        404,
        'question_over',
        undefined,
      ]);
    });
  });
});
