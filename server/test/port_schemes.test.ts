// Port schemes over their life: changed together with the nodes, removed, and kept where an account
// or server would lose what it uses.
import { beforeAll, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { Answer } from './harness.ts';

eachApp((t) => {
  const bases = (...ports: number[]) => ports.map((base) => ({ base, service: 'proxy' }));
  const patch = (name: string, ...ports: number[]) =>
    t.operator.patch(`/port_schemes/${name}`, { bases: bases(...ports) });
  const expectRefusal = ({ status, body }: Answer, ...says: [number, string, string?]) => {
    const [code, field] = says.slice(1);
    expect([status, body.code, body.field]).toEqual([says[0], code, field]);
    return body.message as string;
  };
  beforeAll(async () => {
    for (const [name, port] of Object.entries({ high: 20_000, other: 30_000 })) {
      await t.operator.post('/port_schemes', { name, bases: bases(port) });
    }
    await t.server('fra1', { port_schemes: ['default', 'high', 'other'] });
  });

  test('each scheme shows how many accounts and servers have it', async () => {
    const account = await t.account('first', { servers: ['fra1'] });
    const { body } = await t.operator.get('/port_schemes');
    const counts = body.map(({ name, accounts, servers }: Record<string, unknown>) => [
      ...[name, accounts, servers],
    ]);
    expect(counts).toEqual([
      ['default', 1, 1],
      ['high', 0, 1],
      ['other', 0, 1],
    ]);
    expect(account.account.name).toBe('first');
  });

  test('a scheme gets other ports while no account has it, and the nodes of its servers get them', async () => {
    const node = await t.node('fra1');
    await node.snapshot();
    const before = (await t.operator.get('/status')).body.database.revision;
    const { status, body } = await patch('high', 21_000, 23_000);
    expect([status, body]).toEqual([
      200,
      { name: 'high', bases: bases(21_000, 23_000), accounts: 0, servers: 1 },
    ]);
    const records = await node.snapshot();
    const server = records.find(({ kind }) => kind === 'server');
    expect(server?.value).toMatchObject({
      port_schemes: [{ name: 'default' }, { name: 'high', bases: bases(21_000, 23_000) }, {}],
    });
    const changes = await t.running.ctx.db.all(
      "select server_id from changes where revision > $1 and kind = 'server'",
      [before],
    );
    expect(changes.length).toBe(1);
    const [entry] = (await t.operator.get('/audit?limit=1')).body;
    expect(entry).toMatchObject({ action: 'port_scheme.change', target: 'high' });
    await t.operator.delete(`/nodes/${node.id}`);
  });

  test('a base that an account uses stays, another may come beside it', async () => {
    await t.account('acme', { servers: ['fra1'], port_scheme: 'high' });
    const said = expectRefusal(await patch('high', 23_000), 409, 'port_scheme_in_use', 'bases');
    expect(said).toContain('21000 proxy is used by the account acme');
    const secure = [{ base: 21_000, service: 'proxy-https' }, ...bases(23_000)];
    const served = await t.operator.patch('/port_schemes/high', { bases: secure });
    expectRefusal(served, 409, 'port_scheme_in_use', 'bases');
    expect((await patch('high', 21_000, 23_000, 25_000)).status).toBe(200);
  });

  test('ports that a server has by another scheme, or twice in one, are refused', async () => {
    const said = expectRefusal(await patch('other', 24_500), 409, 'conflict', 'bases');
    expect(said).toMatch(/high, which fra1 has/);
    expectRefusal(await patch('other', 40_000, 40_500), 400, 'invalid_field', 'bases');
    expectRefusal(await patch('other'), 400, 'invalid_field', 'bases');
    expectRefusal(await patch('none', 40_000), 404, 'not_found');
    const renamed = await t.operator.patch('/port_schemes/other', { name: 'another' });
    expect(renamed.status).toBe(400);
  });

  test('a scheme is removed when neither an account nor a server has it, else the refusal says who', async () => {
    const remove = (name: string) => t.operator.delete(`/port_schemes/${name}`);
    expect(expectRefusal(await remove('high'), 409, 'port_scheme_in_use')).toContain(
      'the account acme and of the server fra1',
    );
    expect(expectRefusal(await remove('other'), 409, 'port_scheme_in_use')).toContain('fra1');
    expectRefusal(await remove('default'), 409, 'port_scheme_in_use');
    await t.operator.patch('/servers/fra1', { port_schemes: ['default', 'high'] });
    expect((await remove('other')).status).toBe(204);
    expectRefusal(await remove('other'), 404, 'not_found');
    const names = (await t.operator.get('/port_schemes')).body.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(['default', 'high']);
    const [entry] = (await t.operator.get('/audit?limit=1')).body;
    expect(entry).toMatchObject({ action: 'port_scheme.remove', target: 'other' });
  });
});
