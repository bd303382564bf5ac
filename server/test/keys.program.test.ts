// The keys of a network: backed up with a passphrase, restored, and missed before anything is
// written.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { cost, openKeys, sealKeys } from '../src/keys/keys_backup.ts';
import { CommandLine } from './cli_process.ts';
import { eachDatabase } from './databases.ts';

const passphrase = 'correct horse battery staple';
// Here a guess is cheap; the command line has the real cost.
Object.assign(cost, { log2_n: 8 });

describe('a backup of the keys', () => {
  test('is opened by its passphrase alone, and distinguishes a wrong one from damage anywhere in the file', () => {
    const sealed = sealKeys('the text of the keys', passphrase, 1);
    expect(openKeys(sealed, passphrase)).toBe('the text of the keys');
    expect(sealed).not.toContain('the text');
    expect(() => openKeys(sealed, `${passphrase}.`)).toThrow(/The passphrase is not the one/);
    const parts = JSON.parse(sealed);
    const damaged: string[] = ['', 'no JSON', 'null', '{}', sealed.slice(0, -20)];
    for (const name of ['nonce', 'sealed', 'sha256']) {
      const other = (parts[name][3] === 'a' ? 'b' : 'a') + parts[name].slice(4);
      damaged.push(JSON.stringify({ ...parts, [name]: parts[name].slice(0, 3) + other }));
    }
    damaged.push(JSON.stringify({ ...parts, made_at: 2 }));
    damaged.push(JSON.stringify({ ...parts, kdf: { ...parts.kdf, log2_n: 60 } }));
    for (const text of damaged) {
      expect(() => openKeys(text, passphrase)).toThrow(/not a whole backup of keys/);
    }
    const newer = JSON.stringify({ ...parts, version: 2 });
    expect(() => openKeys(newer, passphrase)).toThrow(/newer Exitward/);
  });
});

eachDatabase(({ emptyUrl }) => {
  describe('keys that are lost', () => {
    const cli = new CommandLine();
    const keys = join(cli.data_dir, 'keys.json');
    const backup = join(cli.data_dir, 'keys.sealed');
    const secret = join(cli.data_dir, 'passphrase');
    afterAll(() => cli.clean());

    test('are reported before anything is written, and come back by exitward keys restore', async () => {
      cli.env = { ...cli.env, EXITWARD_DATABASE_URL: await emptyUrl() };
      await cli.serve();
      await cli.stop();
      const before = readFileSync(keys);
      const made = await cli.runWith(
        `${passphrase}\n`,
        'keys',
        'backup',
        backup,
        '--passphrase-file',
        '-',
      );
      expect([made.code, made.stdout, made.stderr]).toEqual([
        0,
        '',
        expect.stringMatching(/sealed with the passphrase/),
      ]);
      expect(statSync(backup).mode & 0o777).toBe(0o600);
      const { seal, hash, signing } = JSON.parse(before.toString());
      for (const key of [seal, hash, signing[0].private_key, passphrase]) {
        expect(readFileSync(backup, 'utf8') + made.stderr).not.toContain(key);
      }

      rmSync(keys);
      const refused = await cli.run('serve');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringMatching(/There is no keys file .*exitward keys restore/),
      ]);
      expect(existsSync(keys)).toBe(false);

      const cheap = join(cli.data_dir, 'cheap.sealed');
      writeFileSync(cheap, sealKeys(before.toString(), passphrase, 1));
      const wrong = await cli.runWith(
        'another passphrase',
        'keys',
        'restore',
        cheap,
        '--passphrase-file',
        '-',
      );
      expect([wrong.code, wrong.stderr]).toEqual([
        1,
        expect.stringMatching(/passphrase is not the one/),
      ]);
      expect(existsSync(keys)).toBe(false);
      writeFileSync(secret, passphrase, { mode: 0o600 });
      const restored = await cli.run('keys', 'restore', cheap, '--passphrase-file', secret);
      expect([restored.code, restored.stdout]).toEqual([0, '']);
      expect(readFileSync(keys)).toEqual(before);
      expect(statSync(keys).mode & 0o777).toBe(0o600);
      await cli.serve();
      await cli.stop();
    });

    deepTest('come back from a backup at the real cost', async () => {
      const before = readFileSync(keys);
      rmSync(keys);
      await cli.run('keys', 'restore', backup, '--passphrase-file', secret);
      expect(readFileSync(keys)).toEqual(before);
    });

    deepTest('are never put over others, nor asked for without a terminal', async () => {
      const again = await cli.run('keys', 'restore', backup, '--passphrase-file', secret);
      expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/move it away first/)]);
      const bare = await cli.run('keys', 'backup', `${backup}.2`);
      expect([bare.code, bare.stderr]).toEqual([2, expect.stringMatching(/--passphrase-file/)]);
      const short = await cli.runWith(
        'short',
        'keys',
        'backup',
        `${backup}.2`,
        '--passphrase-file',
        '-',
      );
      expect([short.code, short.stderr]).toEqual([
        1,
        expect.stringMatching(/12 characters or more/),
      ]);
    });
  });
});
