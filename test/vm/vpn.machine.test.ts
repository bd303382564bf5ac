// The VPN on a kernel that seals the packets itself, as nodes have it, and that has L2TP: in a
// virtual machine, reported test by test.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { runInMachine } from './machine.ts';

const root = join(import.meta.dirname, '../..');
const program = join(import.meta.dirname, 'vpn_in_machine.ts');
const names = readFileSync(program, 'utf8').matchAll(/^await attempt\(\s*'(.*)',/gm);

let output = '';

beforeAll(async () => {
  const machine = await runInMachine(`
    export PATH=${dirname(process.execPath)}:$PATH EXITWARD_TEST_VPN_IPSEC=kernel NODE_COMPILE_CACHE=/run/compiled
    cd ${root} && exec node ${program}
  `);
  output = machine.output;
}, 1_600_000);

test.each(Array.from(names, ([, name = '']) => name))('%s', (name) => {
  const said = output.match(/^(not )?ok .*$/gm) ?? [];
  const own = said.find((line) => line.includes(` ${name}`));
  expect(own?.startsWith('ok'), output).toBe(true);
});
