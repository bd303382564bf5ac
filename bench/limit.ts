// How much passes a limit: a tunnel at a steady rate until it is ended, against the traffic of 250
// ms.
//   node bench/limit.ts [--rate 50] [--limit 400] [--times 3]     MB a second, MB
import { once } from 'node:events';
import { connect } from 'node:net';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { ControlPlane, type EngineName, hosts, inADay, Node, startOrigin } from './node.ts';

const { rate: rateMb, limit: limitMb, times } = sizesFrom({ rate: 50, limit: 400, times: 3 });
const megabyte = 1_000_000;
const rate = rateMb * megabyte;
const limitBytes = limitMb * megabyte;
const maxSeconds = 0.25;
const turnMs = 10;
const giveUpSeconds = 60;

/** The bytes of a tunnel both ways, when the proxy has ended it. */
async function bytesUntilEnded(node: Node, from: string, to: { host: string; port: number }) {
  const socket = connect({ host: node.host, port: node.port, localAddress: from });
  socket.on('error', () => {});
  await once(socket, 'connect');
  const target = `${to.host}:${to.port}`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`refused: ${head}`);
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.on('data', () => {});
  const begun = performance.now();
  let requestedBytes = 0;
  const timer = setInterval(() => {
    const due = Math.floor((rate * (performance.now() - begun)) / 1000);
    socket.write(`${due - requestedBytes}\n`);
    requestedBytes = due;
    if (performance.now() - begun > 1000 * giveUpSeconds) socket.destroy();
  }, turnMs);
  await ended;
  clearInterval(timer);
  const seconds = (performance.now() - begun) / 1000;
  return { bytes: socket.bytesRead + socket.bytesWritten, seconds };
}

const closers: Array<() => Promise<void>> = [];
try {
  const origin = await startOrigin();
  closers.push(() => origin.process.stop());
  const control = await ControlPlane.start({ accounts: 2 * times, limit_bytes: limitBytes });
  closers.push(() => control.remove());
  const { node_url, invites } = control.served;
  console.log(`past a limit of ${limitMb} MB at ${rateMb} MB/s, in one tunnel`);
  for (const [which, engine] of (['squid', 'embedded'] as const satisfies EngineName[]).entries()) {
    const node = await Node.join(engine, node_url, invites[which] ?? '');
    closers.push(() => node.remove());
    await node.start();
    for (let time = 0; time < times; time++) {
      const account = times * which + time;
      const ip = `127.81.0.${1 + account}`;
      const entry = { ip, user: 'alice', expiry: inADay() };
      await control.ask('POST', '/contract/ip-authlist', entry, account);
      await new Promise((resolve) => setTimeout(resolve, 500));
      const to = { host: hosts.origins[0], port: origin.ports.tunnel };
      const { bytes, seconds } = await bytesUntilEnded(node, ip, to);
      const over = bytes - limitBytes;
      const allowed = (bytes / seconds) * maxSeconds;
      report({
        work: `${engine}: past a limit, by one tunnel`,
        ours: over / megabyte,
        unit: 'MB',
        peer: { name: `${maxSeconds * 1000} ms of its traffic`, value: allowed / megabyte },
        goal: { atMost: 1 },
      });
    }
    await node.stop();
  }
} finally {
  for (const close of closers.reverse()) await close();
}
