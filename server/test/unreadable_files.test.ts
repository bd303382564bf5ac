// Files at which this user may not look: they are not taken for files that are not there. A link
// that leads to itself stops root, too.
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runChecks } from '../../kit/src/doctor/check.ts';
import { isThere } from '../../kit/src/private_files.ts';
import { listBackups } from '../src/backups/folder.ts';
import { verifyBackup } from '../src/backups/verify.ts';
import { destinationOf } from '../src/cli/api.ts';
import { backup } from '../src/cli/local.ts';
import { operatorTokenNoun } from '../src/cli/operator_tokens.ts';
import { systemClock } from '../src/clock.ts';
import { readConfig, readOperatorAccess } from '../src/config.ts';
import { stoppedDatabase } from '../src/doctor/database.ts';
import { fileChecks } from '../src/doctor/files.ts';
import { newKeys } from '../src/keys/keys_file.ts';
import { Secrets } from '../src/keys/secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-unreadable-'));
const closed = join(folder, 'closed');
symlinkSync(closed, closed);
afterAll(() => rmSync(folder, { recursive: true }));

const env = { EXITWARD_DATA_DIR: join(closed, 'data') };
const mayNot = /ELOOP/;

test('a file that is not there is another matter than one that cannot be looked at', () => {
  expect([isThere(folder), isThere(join(folder, 'none'))]).toEqual([true, false]);
  expect(() => isThere(join(closed, 'x'))).toThrow(`${closed}/x cannot be looked at (ELOOP)`);
});

test('the doctor finds no file of such a folder in order', async () => {
  const config = readConfig(env);
  const findings = await runChecks([
    ...fileChecks(config, false),
    stoppedDatabase(config, systemClock),
  ]);
  expect(findings.map(({ name, state }) => `${name} ${state}`)).not.toContainEqual(
    expect.stringMatching(/ ok$/),
  );
  for (const { sentence } of findings) expect(sentence).toMatch(mayNot);
});

test('its backups are not none', async () => {
  expect(() => listBackups(closed, 'x')).toThrow(mayNot);
  const secrets = new Secrets(newKeys());
  await expect(verifyBackup(join(closed, 'a.db'), secrets)).rejects.toThrow(mayNot);
});

test('commands on its database say so, and a token goes to no other server', async () => {
  const create = operatorTokenNoun.commands.find(({ name }) => name === 'operator-token create');
  const run = async (command: object | undefined, args: object, options = {}) =>
    (command as typeof backup).run({ arguments: args, options } as never, env);
  await expect(run(backup, { file: join(folder, 'a.db') })).rejects.toThrow(mayNot);
  await expect(run(create, { name: 'olga' }, { local: true })).rejects.toThrow(mayNot);
  expect(() => destinationOf(readOperatorAccess(env))).toThrow(/set EXITWARD_ADMIN_URL/);
});
