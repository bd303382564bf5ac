// 21,000 idle connections that authenticate nowhere, against an embedded engine with 1,024
// descriptors.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as t from '../../agent/test/proxy_world.ts';

const descriptors = 1024;
const attacks = 21_000;
const atOnce = 200;
/** Every so often the victim asks. */
const beside = 1000;

let dir: string;
let engine: ChildProcess;
let origin: t.Origin;
const idle = new Set<Socket>();

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'exitward-real-'));
  origin = await t.startOrigin();
  const settings = {
    EXITWARD_AGENT_STATE_DIR: dir,
    EXITWARD_AGENT_ALLOW_DESTINATIONS: t.allowed,
    EXITWARD_AGENT_CONNECT_PORTS: '81-65535',
  };
  writeFileSync(join(dir, 'settings.json'), JSON.stringify(settings));
  writeFileSync(join(dir, 'records.json'), JSON.stringify(t.usualRecords()));
  const program = fileURLToPath(new URL('engine_process.ts', import.meta.url));
  engine = spawn('prlimit', [`--nofile=${descriptors}`, process.execPath, program, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await Promise.race([
    once(engine.stdout as NodeJS.ReadableStream, 'data'),
    once(engine, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`))),
  ]);
});
afterEach(async () => {
  for (const socket of idle) socket.destroy();
  idle.clear();
  engine.stdin?.end();
  if (engine.exitCode === null && engine.signalCode === null) await once(engine, 'exit');
  await origin.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Resolves when the connection is there, or was not taken. */
function open(n: number): Promise<void> {
  return new Promise((resolve) => {
    const localAddress = `127.79.${3 + (n % 7)}.${1 + (n % 250)}`;
    const socket = connect({ host: '127.0.0.1', port: t.normalPort, localAddress });
    idle.add(socket);
    socket.once('connect', resolve);
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.once('close', () => {
      idle.delete(socket);
      resolve();
    });
    socket.resume();
  });
}

test('21,000 idle connections that authenticate nowhere neither end the engine nor shut anybody out', async () => {
  const victim = { port: t.normalPort };
  const url = origin.url;
  const tunnel = await t.openTunnel(victim, origin.to);
  const statuses: number[] = [];
  for (let n = 0; n < attacks; n += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, index) => open(n + index)));
    if (n % beside === 0) statuses.push((await t.ask(victim, 'GET', url)).status);
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(statuses).toHaveLength(attacks / beside);
  await t.until(() => idle.size <= descriptors / 8);
  // The connections that were let in before have gone on.
  const { status } = await tunnel.ask(t.requestText('GET', '/', {}));
  expect(status).toBe(200);
  tunnel.socket.destroy();
  expect(engine.exitCode).toBe(null);
});
