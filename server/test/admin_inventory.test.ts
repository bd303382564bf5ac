// The inventory import: whole or not at all, from JSON or CSV, and what it leaves is what the
// inventory says.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

interface Exit {
  ip: string;
  port_base: number;
}

interface Server {
  name: string;
  hostname: string;
  title: string;
  city: string;
  country: string;
  latitude: number;
  longitude: number;
  services: string[];
  exit_ips: Exit[];
}

const header = 'name,hostname,title,city,country,latitude,longitude,services,ip,port_base';
const quote = (text: string) => (/[",\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A number without an exponent. */
const plain = (value: unknown) =>
  typeof value === 'number' && Math.abs(value) < 1e-6 ? value.toFixed(8) : String(value);

/** An inventory as CSV: one row for each exit IP. */
function csvOf(servers: Server[]): string {
  const rows = servers.flatMap(({ exit_ips, services, ...server }) => {
    const cells = [...Object.values(server).map(plain), services.join(';')].map(quote);
    if (exit_ips.length === 0) return [[...cells, '', ''].join(',')];
    return exit_ips.map(({ ip, port_base }) => [...cells, ip, port_base].join(','));
  });
  return [header, ...rows].map((row) => `${row}\r\n`).join('');
}

/**
 * Few names, hostnames, addresses and port bases, so that they change hands from one inventory to
 * the next.
 */
const inventories = fc
  .record({
    names: fc.shuffledSubarray(['s1', 's2', 's3', 's4', 's5']),
    hostnames: fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'f'], { minLength: 5 }),
    titles: fc.array(fc.constantFrom('Plain', 'Frankfurt, Main', 'The "Hub"', ' = a\tb; '), {
      minLength: 5,
      maxLength: 5,
    }),
    ips: fc.shuffledSubarray([
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.3',
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8::3',
    ]),
    owners: fc.array(fc.nat(4), { minLength: 6, maxLength: 6 }),
    bases: fc.array(fc.shuffledSubarray([0, 1, 2, 3, 4, 499], { minLength: 6 }), {
      minLength: 5,
      maxLength: 5,
    }),
  })
  .map(({ names, hostnames, titles, ips, owners, bases }): Server[] =>
    names.map((name, at) => ({
      name,
      hostname: `${hostnames[at]}.example.net`,
      title: titles[at] as string,
      city: 'Frankfurt',
      country: 'DE',
      latitude: 50.1155,
      longitude: -8.6e-7,
      services: ['proxy', 'vpn-ikev2'],
      exit_ips: ips
        .filter((_, index) => (owners[index] as number) % names.length === at)
        .map((ip, index) => ({ ip, port_base: bases[at]?.[index] as number })),
    })),
  );

const sorted = (servers: Server[]) =>
  servers
    .map((server) => ({
      ...server,
      exit_ips: [...server.exit_ips].sort((a, b) => a.port_base - b.port_base),
    }))
    .sort((a, b) => a.name.localeCompare(b.name));

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
  });
  afterAll(() => t?.stop());

  const importJson = (servers: unknown, query = '') =>
    t.operator.post(`/inventory${query}`, { servers });
  const importCsv = (csv: string, query = '') =>
    t.operator.post(`/inventory${query}`, csv, { 'content-type': 'text/csv' });

  /** The network as it is, in the form of an inventory. */
  async function network(): Promise<Server[]> {
    const listed = (await t.operator.get('/servers')).body as Array<{ name: string }>;
    return Promise.all(
      listed.map(async ({ name }) => {
        const whole = (await t.operator.get(`/servers/${name}`)).body;
        const { hostname, title, city, country, latitude, longitude, services, exit_ips } = whole;
        return {
          ...{ name, hostname, title, city, country, latitude, longitude, services },
          exit_ips: exit_ips.map(({ ip, port_base }: Exit) => ({ ip, port_base })),
        };
      }),
    );
  }

  /** Everything that an import may write. */
  async function stored(): Promise<unknown> {
    const { db } = t.running.ctx;
    const tables = [
      'servers',
      'exit_ips',
      'server_port_schemes',
      'geo_statuses',
      'changes',
      'audit',
      'network',
      'versions',
    ];
    return Promise.all(tables.map((table) => db.all(`select * from ${table} order by 1, 2`)));
  }

  test('whatever the network was, after an import it is what the inventory says; a second one changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(inventories, fc.boolean(), async (servers, asCsv) => {
        // A CSV without servers would be only its header: that is an inventory too.
        const send = (query: string) =>
          asCsv ? importCsv(csvOf(servers), query) : importJson(servers, query);
        const before = await network();
        const planned = await send('?remove_missing=true&dry_run=true');
        expect(await network()).toEqual(before);
        const done = await send('?remove_missing=true');
        expect([done.status, done.body]).toEqual([200, { ...planned.body, dry_run: false }]);
        expect(sorted(await network())).toEqual(sorted(servers));
        const { added, changed, removed, unchanged, exit_ips_added, exit_ips_removed } = done.body;
        expect(added.length + changed.length + unchanged).toBe(servers.length);
        expect(before.length + added.length - removed.length).toBe(servers.length);
        const exits = (list: Server[]) => list.flatMap((server) => server.exit_ips).length;
        expect(exits(before) + exit_ips_added - exit_ips_removed).toBe(exits(servers));
        const again = await send('?remove_missing=true');
        expect(again.body).toMatchObject({
          added: [],
          changed: [],
          removed: [],
          unchanged: servers.length,
        });
      }),
      { numRuns: tries(60) },
    );
  });

  test('the network is exported as an inventory, in JSON and CSV, whose import makes the same network', async () => {
    await fc.assert(
      fc.asyncProperty(inventories, fc.boolean(), async (servers, asCsv) => {
        await importJson(servers, '?remove_missing=true');
        const { body } = await t.operator.get('/inventory');
        expect(
          body.servers.map(({ port_schemes, ...server }: Server & { port_schemes: string[] }) => {
            expect(port_schemes).toEqual(['default']);
            return server;
          }),
        ).toEqual(sorted(servers));
        const csv = (await t.operator.get('/inventory.csv')).text;
        const send = (query: string) =>
          asCsv ? importCsv(csv, query) : t.operator.post(`/inventory${query}`, body);
        expect((await send('?remove_missing=true')).body).toMatchObject({
          ...{ added: [], changed: [], removed: [] },
          unchanged: servers.length,
        });
        await importJson([], '?remove_missing=true');
        expect((await send('')).body.added).toHaveLength(servers.length);
        expect((await t.operator.get('/inventory')).body).toEqual(body);
        expect((await t.operator.get('/inventory.csv')).text).toBe(csv);
      }),
      { numRuns: tries(40) },
    );
  });

  test('one fault anywhere, and nothing at all is written', async () => {
    await importJson([]);
    const faults: Array<[RegExp, (server: Server) => object]> = [
      [/name: /, () => ({ name: 'no spaces' })],
      [/hostname: /, () => ({ hostname: '*.example.net' })],
      [/title: /, () => ({ title: '' })],
      [/country: /, () => ({ country: 'de' })],
      [/latitude: /, () => ({ latitude: 91 })],
      [/longitude: /, () => ({ longitude: -181 })],
      [/services: /, () => ({ services: ['http'] })],
      [/port_base: /, () => ({ exit_ips: [{ ip: '192.0.2.77', port_base: 500 }] })],
      [/ip: /, () => ({ exit_ips: [{ ip: '0.0.0.0', port_base: 5 }] })],
      [
        /port_base: .*already/,
        () => ({
          exit_ips: [
            { ip: '192.0.2.77', port_base: 5 },
            { ip: '192.0.2.78', port_base: 5 },
          ],
        }),
      ],
      [
        /ip: .*already/,
        () => ({
          exit_ips: [
            { ip: '192.0.2.77', port_base: 5 },
            { ip: '192.0.2.77', port_base: 6 },
          ],
        }),
      ],
    ];
    await fc.assert(
      fc.asyncProperty(
        inventories.filter((servers) => servers.length > 0),
        fc.nat(),
        fc.constantFrom(...faults),
        fc.boolean(),
        async (servers, which, [says, spoil], asCsv) => {
          const at = which % servers.length;
          const spoilt = servers.map((server, index) =>
            index === at ? { ...server, ...spoil(server) } : server,
          ) as Server[];
          const before = await stored();
          const answer = await (asCsv ? importCsv(csvOf(spoilt)) : importJson(spoilt));
          expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(says)]);
          expect(answer.body.message).toMatch(/nothing was changed/);
          expect(await stored()).toEqual(before);
        },
      ),
      { numRuns: tries(60) },
    );
  });

  describe('against what is there', () => {
    const server = (name: string, more: Partial<Server> = {}): Server => ({
      name,
      hostname: `${name}.example.org`,
      title: 'T',
      city: 'C',
      country: 'NL',
      latitude: 1,
      longitude: 2,
      services: ['proxy'],
      exit_ips: [],
      ...more,
    });
    const exits = (...ips: string[]) => ips.map((ip, at) => ({ ip, port_base: at + 1 }));
    const replace = (servers: Server[]) => importJson(servers, '?remove_missing=true');

    test('exit IPs, port bases and hostnames change hands within one import', async () => {
      await replace([
        server('one', { exit_ips: exits('192.0.2.1', '192.0.2.2') }),
        server('two', { exit_ips: exits('192.0.2.3') }),
      ]);
      const swapped = [
        server('one', { hostname: 'two.example.org', exit_ips: exits('192.0.2.3', '192.0.2.1') }),
        server('two', { hostname: 'one.example.org', exit_ips: exits('192.0.2.2') }),
      ];
      const answer = await importJson(swapped);
      expect(answer.body).toEqual({
        dry_run: false,
        added: [],
        changed: [
          { name: 'one', fields: ['hostname', 'exit_ips'] },
          { name: 'two', fields: ['hostname', 'exit_ips'] },
        ],
        removed: [],
        unchanged: 0,
        exit_ips_added: 2,
        exit_ips_removed: 2,
      });
      expect(await network()).toEqual(swapped);
    });

    test('health stays with an exit IP that gets another port base, and starts again with another server', async () => {
      await replace([server('one', { exit_ips: exits('192.0.2.1') }), server('two')]);
      const node = await t.node('one');
      const checked_at = t.now();
      const report = { exit_ips: [{ ip: '192.0.2.1', status: 'ok', checked_at }] };
      expect((await node.send('POST', '/health', report)).status).toBeLessThan(300);
      const statusOn = async (name: string) =>
        (await t.operator.get(`/servers/${name}`)).body.exit_ips[0].status;
      await importJson([server('one', { exit_ips: [{ ip: '192.0.2.1', port_base: 9 }] })]);
      expect(await statusOn('one')).toBe('ok');
      await importJson([server('one'), server('two', { exit_ips: exits('192.0.2.1') })]);
      expect(await statusOn('two')).toBe('unknown');
    });

    test('servers that are not named stay, unless they are asked to go', async () => {
      await replace([server('one'), server('two')]);
      expect((await importJson([server('one')])).body).toMatchObject({ removed: [], unchanged: 1 });
      const body = { servers: [server('one')], remove_missing: true };
      expect((await t.operator.post('/inventory', body)).body).toMatchObject({ removed: ['two'] });
    });

    test('what stands against it is listed whole, and nothing is written', async () => {
      await replace([server('one', { exit_ips: exits('192.0.2.1') }), server('two')]);
      await t.account('holder', { servers: ['two'] });
      const before = await stored();
      const answer = await importJson([
        server('new', { hostname: 'one.example.org', exit_ips: exits('192.0.2.1') }),
        { ...server('two'), port_schemes: ['none'] },
      ]);
      expect(answer.status).toBe(409);
      expect(answer.body.message.split('\n')).toEqual([
        'The inventory has 4 faults; nothing was changed.',
        '- servers[0], hostname: one.example.org belongs to one.',
        '- servers[0].exit_ips[0], ip: 192.0.2.1 belongs to one.',
        '- servers[1], port_schemes: there is no port scheme named "none".',
        '- servers[1], port_schemes: default is used by a contract on two.',
      ]);
      const removing = await importJson([server('one')], '?remove_missing=true');
      expect([removing.status, removing.body.message]).toEqual([
        409,
        expect.stringMatching(/two is .*on a contract/),
      ]);
      expect(await stored()).toEqual(before);
    });

    test('nodes of the servers that changed get an event, others do not', async () => {
      await importJson([server('one', { exit_ips: exits('192.0.2.1') }), server('two')]);
      const [first, two] = [await t.node('one', 'a'), await t.node('two', 'b')];
      await Promise.all([first.start(), two.start()]);
      await importJson([server('one', { title: 'New' }), server('two')]);
      await first.until((node) => node.heard('server').length === 1);
      expect(two.heard('server')).toEqual([]);
      first.stop();
      two.stop();
    });
  });

  describe('the CSV', () => {
    const row = 'csv1,csv1.example.net,T,C,NL,1,2,proxy';

    test.each<[string, string, RegExp]>([
      ['no rows at all', '', /empty; expected a first row/],
      ['a missing column', header.replace(',country', ''), /row 1: the column country is missing/],
      ['an unknown column', `${header},note`, /row 1: "note" is not a column/],
      ['a column twice', `${header},ip`, /row 1: the column ip is given twice/],
      ['a row that is too short', `${header}\n${row}`, /row 2: has 8 cells; the first row has 10/],
      ['a quote that is not closed', `${header}\n"csv1,`, /cannot be read: Quote Not Closed/],
      [
        'a number in words',
        `${header}\n${row.replace('1,2', 'one,2')},192.0.2.9,1`,
        /row 2, latitude: expected a number .*"one"/,
      ],
      [
        'a number that is too exact for JSON',
        `${header}\n${row.replace('1,2', '1e1,2')},192.0.2.9,1`,
        /row 2, latitude/,
      ],
      ['an exit IP without a port base', `${header}\n${row},192.0.2.9,`, /row 2, port_base/],
      [
        'rows of one server that differ',
        `${header}\n${row},192.0.2.8,1\n${row.replace('NL', 'BE')},192.0.2.9,2`,
        /row 3, country: differs from row 2/,
      ],
      ['bytes that are no UTF-8', `${header}\n\xff`, /not UTF-8/],
      ['a NUL', `${header}\n${row}\0`, /not UTF-8 text/],
    ])('with %s is refused, naming the row', async (_, csv, says) => {
      const bytes = Buffer.from(csv, csv.includes('\xff') ? 'latin1' : 'utf8');
      const answer = await t.operator.post('/inventory', bytes, { 'content-type': 'text/csv' });
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(says)]);
    });

    test.each([
      [';', (cell: string) => cell.replace('1.5', '1,5')],
      ['\t', (cell: string) => cell],
    ])(
      'is read as spreadsheets write it: separated by %j, with empty rows and columns',
      async (separator, written) => {
        const name = separator === ';' ? 'semi1' : 'tab1';
        const cells = [name, `${name}.example.net`, 'T', 'C', 'NL', '1.5', '-2', 'proxy;vpn-ikev2'];
        const ofExit = (at: number) => [...cells, `192.0.2.${at}`, `${at}`];
        const quoted = (cell: string) => (cell.includes(separator) ? `"${cell}"` : written(cell));
        const first = separator === ';' ? 101 : 103;
        const rows = [header.split(','), ofExit(first), [], ofExit(first + 1)].map((row) =>
          [...row, ...Array<string>(13 - row.length).fill('')].map(quoted).join(separator),
        );
        const answer = await importCsv(`\ufeff${rows.join('\r\n')}\r\n`);
        expect([answer.status, answer.body.added]).toEqual([200, [name]]);
        expect((await t.operator.get(`/servers/${name}`)).body).toMatchObject({
          ...{ latitude: 1.5, longitude: -2, services: ['proxy', 'vpn-ikev2'] },
          exit_ips: [{ ip: `192.0.2.${first}` }, { ip: `192.0.2.${first + 1}` }],
        });
      },
    );

    test('a code that no country has is refused, with the right one', async () => {
      const answer = await importCsv(`${header}\n${row.replace('NL', 'UK')},192.0.2.9,1`);
      expect([answer.status, answer.body.message]).toEqual([
        400,
        expect.stringContaining('row 2, country: UK is not a code of ISO 3166-1; the code is GB.'),
      ]);
    });

    test('may start with a byte order mark, reorder its columns, and leave out port schemes', async () => {
      const csv = `\ufeffip,port_base,${header.replace(',ip,port_base', '')},port_schemes\n192.0.2.99,7,${row},default\n,,${row.replaceAll('csv1', 'csv2')},\n`;
      const answer = await importCsv(csv);
      expect([answer.status, answer.body.added]).toEqual([200, ['csv1', 'csv2']]);
      expect((await t.operator.get('/servers/csv1')).body).toMatchObject({
        exit_ips: [{ ip: '192.0.2.99', port_base: 7 }],
        port_schemes: ['default'],
      });
    });
  });

  test.each<[string, unknown, RegExp]>([
    ['a list', [], /expected an object with servers/],
    ['no servers', {}, /servers: expected an array/],
    ['a server that is none', { servers: [5] }, /servers\[0\]: expected an object/],
    ['no exit IPs', { servers: [{}] }, /servers\[0\], exit_ips: expected an array/],
    [
      'an exit IP that is none',
      { servers: [{ exit_ips: [5] }] },
      /servers\[0\]\.exit_ips\[0\], ip: is missing/,
    ],
    [
      'an unknown field',
      { servers: [{ colour: 'red' }] },
      /servers\[0\], "colour": is not a field/,
    ],
    ['an unknown field of its own', { servers: [], replace: true }, /"replace": is not a field/],
    [
      'remove_missing as a word',
      { servers: [], remove_missing: 'yes' },
      /remove_missing: expected a boolean/,
    ],
  ])('JSON with %s is refused, naming the place', async (_, body, says) => {
    const answer = await t.operator.post('/inventory', body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(says)]);
  });

  test('a query that is not understood, another kind of body, or none is refused', async () => {
    expect((await importJson([], '?dry_run=yes')).body.message).toMatch(/dry_run: expected/);
    expect((await importJson([], '?dry=true')).status).toBe(400);
    expect((await t.operator.send('POST', '/inventory')).body.message).toMatch(
      /expected an object/,
    );
    const xml = await t.operator.post('/inventory', '<a/>', { 'content-type': 'text/xml' });
    expect(xml.status).toBe(400);
    const elsewhere = await t.operator.post('/accounts', 'a,b', { 'content-type': 'text/csv' });
    expect(elsewhere.body.message).toBe('Content-Type: expected application/json.');
    const text = await t.operator.post('/inventory', 'a,b', { 'content-type': 'text/plain' });
    expect([text.status, text.body.message]).toEqual([
      400,
      'Content-Type: expected application/json or text/csv.',
    ]);
  });

  test('a large network goes through in one piece; more than 8 MiB does not', async () => {
    const servers = Array.from({ length: 400 }, (_, at) => ({
      name: `big${at}`,
      hostname: `big${at}.example.com`,
      title: 'x'.repeat(100),
      city: 'Big',
      country: 'US',
      latitude: 0,
      longitude: 0,
      services: ['proxy'],
      exit_ips: [1, 2, 3].map((port_base) => ({
        ip: `10.${at >> 8}.${at & 255}.${port_base}`,
        port_base,
      })),
    }));
    const body = JSON.stringify({ servers });
    expect(body.length).toBeGreaterThan(64 * 1024);
    const answer = await t.operator.post('/inventory', body);
    expect([answer.status, answer.body.added.length, answer.body.exit_ips_added]).toEqual([
      200, 400, 1200,
    ]);
    const tooLarge = await t.operator.post('/inventory', body + ' '.repeat(8 * 1024 * 1024));
    expect(tooLarge.status).toBe(400);
  });
});
