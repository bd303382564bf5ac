// A client that asks for much and reads nothing: of memory it gets little, and its connection ends.
// Others go on.
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachDatabase } from '../../server/test/databases.ts';
import { ServerProcess } from '../../server/test/server_process.ts';
import { until } from '../../server/test/waiting.ts';
import { deepTest } from '../deep_test.ts';
import { tries } from '../effort.ts';
import {
  fillAuthlist,
  heardOn,
  heldByServer,
  holding,
  newAccount,
  peakMegabytes,
} from './held_process.ts';
import { mostPatient_milliseconds, servedBeside } from './victim.ts';

const entries = 100_000;
/**
 * Held and cached responses have 96 MiB of it; the rest is what making lists one after another
 * leaves to the collector.
 */
const mostOfDifferentLists_megabytes = 512;
/** More than may be held. */
const lists = tries(60, { atLeast: 20 });

eachDatabase((database) => {
  let server: ServerProcess;
  let attacker: string;
  let victim: string;
  beforeAll(async () => {
    const url = await database.url();
    const settings = { EXITWARD_DATABASE_URL: url, EXITWARD_UNREAD_SECONDS: '2' };
    server = await ServerProcess.start(ServerProcess.settings(settings));
    attacker = await newAccount(server, 'attacker');
    victim = await newAccount(server, 'victim');
    await fillAuthlist(url, 'attacker', entries);
  });
  afterAll(() => server.remove());

  const get = (authorization: string, path: string) =>
    `GET /v0${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`;
  /** Resolves when the server has ended all of these; the victim is served all the while. */
  async function endedBesideVictim(sockets: Socket[], most_megabytes = 256): Promise<void> {
    expect(heldByServer(server.base_url, sockets)).toBeGreaterThan(0);
    const ended = until(() => heldByServer(server.base_url, sockets) === 0, 600);
    const { slowest_milliseconds } = await servedBeside(ended, async () => {
      const response = await fetch(`${server.base_url}/v0/contract`, {
        headers: { authorization: victim },
      });
      expect(response.status).toBe(200);
      await response.text();
      await sleep(50);
    });
    expect(slowest_milliseconds).toBeLessThan(mostPatient_milliseconds);
    for (const socket of sockets) socket.destroy();
    expect(peakMegabytes(server)).toBeLessThan(most_megabytes);
  }

  test('400 pipelined GETs of a large list that nobody reads stay within 256 MB, and the connection ends', async () => {
    const bytes = get(attacker, '/contract/ip-authlist').repeat(400);
    await endedBesideVictim([await holding(server.base_url, bytes)]);
  });

  deepTest(
    '60 connections that read nothing of a large list stay within 256 MB, and end',
    async () => {
      const bytes = get(attacker, '/contract/ip-authlist').repeat(10);
      const sockets: Socket[] = [];
      for (let at = 0; at < 60; at += 1) sockets.push(await holding(server.base_url, bytes));
      await endedBesideVictim(sockets);
    },
  );

  deepTest('a reader gets all of a large list, however slowly it is read', async () => {
    const close = '\r\nConnection: close\r\n\r\n';
    const path = get(attacker, '/contract/ip-authlist').replace(/\r\n\r\n$/, close);
    const heard = await heardOn(await holding(server.base_url, path));
    const [head = '', body = ''] = heard.split('\r\n\r\n');
    expect(head).toContain(`Content-Length: ${body.length}`.toLowerCase());
    expect(JSON.parse(body)).toHaveLength(entries);
  });

  deepTest('400 pipelined GETs that are read are all answered, in their order', async () => {
    const paths = Array.from({ length: 400 }, (_, at) =>
      get(victim, at % 2 ? '/contract' : '/nothing'),
    );
    const socket = await holding(server.base_url, paths.join(''));
    socket.resume();
    const heard = heardOn(socket);
    socket.write(get(victim, '/users').replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'));
    const statuses = (await heard).match(/HTTP\/1\.1 \d+/g);
    expect(statuses).toEqual([
      ...paths.map((_, at) => `HTTP/1.1 ${at % 2 ? 200 : 404}`),
      'HTTP/1.1 200',
    ]);
  });

  deepTest(
    `${lists} connections that read nothing of as many different large lists stay within 512 MB, and end`,
    {
      timeout: 900_000,
    },
    async () => {
      const digits = Array.from({ length: 10 }, (_, digit) => digit);
      const filters = ['', '.', '0.', '10.', '.1', '.0'].flatMap((part) =>
        digits.map((digit) => part + digit),
      );
      const sockets = await Promise.all(
        filters.slice(0, lists).map((part) => {
          const reading = get(attacker, `/contract/ip-authlist?ip=${part}`);
          const last = reading.replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n');
          return holding(server.base_url, reading + last);
        }),
      );
      await endedBesideVictim(sockets, mostOfDifferentLists_megabytes);
    },
  );
});
