// An exit with 64 ports: a process in a network namespace whose kernel has only these for outgoing
// connections.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const exit = '127.0.0.1';
const script = `
  import { connect, createServer, Socket } from 'node:net';
  const [dialling, outgoing, exits, doctor] = await Promise.all(
    ['embedded/dial', 'outgoing_ports', 'health/exit_addresses', 'doctor/kernel'].map((file) =>
      import(\`${new URL('../src', import.meta.url)}/\${file}.ts\`),
    ),
  );
  const hosts = Array.from({ length: 8 }, (_, index) => \`127.0.0.\${index + 2}\`);
  const listen = (host) =>
    new Promise((resolve) => createServer().listen(8080, host, resolve));
  await Promise.all(hosts.map(listen));
  const openAll = async (open) => {
    const outcomes = {};
    for (let index = 0; index < 200; index += 1) {
      const outcome = await open(hosts[index % hosts.length]);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    return outcomes;
  };
  const isOut = () => exits.isOutOfPorts('${exit}');
  const before = await isOut();
  const byKernel = await openAll((host) =>
    new Promise((resolve) => {
      const socket = connect({ host, port: 8080, localAddress: '${exit}' });
      socket.once('connect', () => resolve('open')).once('error', ({ code }) => resolve(code));
    }),
  );
  const after = await isOut();
  const from = { ip: '${exit}', ports: outgoing.readOutgoingPorts() };
  const byDial = await openAll(async (host) => {
    const outcome = await dialling.dial((work) => work, [host], 8080, from);
    return outcome instanceof Socket ? 'open' : outcome;
  });
  const findingOf = async (engine, name = 'outgoing_ports') => {
    const { run } = doctor.kernelChecks.find((check) => check.name === name);
    const config = { engine, squid: 'squid', port_shift: 0 };
    const [finding] = await run({ config, listeners: new Map([[1, { exit_ip: '${exit}' }]]) });
    return [finding.state, finding.sentence];
  };
  const findings = [
    await findingOf('embedded'),
    await findingOf('squid'),
    await findingOf('embedded', 'kernel'),
  ];
  console.log(JSON.stringify({ before, byKernel, after, byDial, findings }));
  process.exit();
`;

test('an exit with 64 ports opens 64 connections with ports that the kernel chooses, and all with its own', () => {
  const set = (name: string, value: string) => `echo ${value} > /proc/sys/net/ipv4/${name}`;
  const settings = `${set('ip_local_port_range', '40000 40063')} && ${set('ip_nonlocal_bind', '1')}`;
  const inside = ['sh', '-c', `ip link set lo up && ${settings} && exec "$@"`, 'sh'];
  const node = [process.execPath, '--input-type=module', '-e', script];
  const stdout = execFileSync('unshare', ['--net', ...inside, ...node], { encoding: 'utf8' });
  expect(JSON.parse(stdout)).toEqual({
    before: false,
    byKernel: { open: 64, EADDRINUSE: 136 },
    after: true,
    byDial: { open: 200 },
    findings: [
      ['warning', expect.stringMatching(/^An exit has 64 ports for connections to each dest/)],
      [
        'fault',
        expect.stringMatching(/^With Squid 5 .* 64 ports .* All are taken at 127\.0\.0\.1/),
      ],
      ['warning', expect.stringMatching(/^ip_nonlocal_bind is on/)],
    ],
  });
});
