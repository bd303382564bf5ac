// exitward keys: the keys file of this machine, backed up and restored.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { type Environment, readConfig } from '../config.ts';
import { createDurably } from '../durable.ts';
import { openKeys, sealKeys } from '../keys_backup.ts';
import { readPrivate } from '../private_files.ts';
import { loadSecrets, readSecrets } from '../secrets.ts';
import { Failure } from './command.ts';
import { done, print } from './output.ts';
import { readPassphrase } from './passphrase.ts';

interface Options {
  json?: boolean;
  passphraseFile?: string;
}

const fromFile = [
  '--passphrase-file <file>',
  'a file that holds the passphrase, - for standard input; asked for when omitted',
] as const;
const json = ['--json', 'print the outcome for programs'] as const;

export function addKeysCommands(program: Command, env: Environment): void {
  const keys = program
    .command('keys')
    .description('the keys that seal, hash and sign: the keys file of this machine');
  keys
    .command('backup <file>')
    .description('write the keys, sealed with a passphrase, to a file')
    .option(...fromFile)
    .option(...json)
    .action((file: string, options: Options) => backUpKeys(env, file, options));
  keys
    .command('restore <file>')
    .description('make the keys file from a backup of the keys, where there is none')
    .option(...fromFile)
    .option(...json)
    .action((file: string, options: Options) => restoreKeys(env, file, options));
}

async function backUpKeys(env: Environment, file: string, options: Options): Promise<void> {
  const { keys_file, mounted_secrets } = readConfig(env);
  const target = resolve(file);
  if (existsSync(target)) throw new Failure(`${target} is there already; choose another name.`);
  if (!existsSync(dirname(target))) throw new Failure(`There is no folder ${dirname(target)}.`);
  const { key_id } = loadSecrets(keys_file, true, mounted_secrets);
  const text = readPrivate(keys_file, { mounted: mounted_secrets });
  const passphrase = await readPassphrase(options.passphraseFile, true);
  const sealed = sealKeys(text, passphrase, systemClock.now());
  // Read back before it is relied upon.
  if (openKeys(sealed, passphrase) !== text) throw new Failure('The keys could not be sealed.');
  if (!createDurably(target, sealed)) throw new Failure(`${target} is there already.`);
  const sentence = `Wrote ${target}: the keys ${key_id}, sealed with the passphrase. Keep both, in two places; one is of no use without the other.`;
  print(done(sentence, { file: target, key_id }), options.json);
}

async function restoreKeys(env: Environment, file: string, options: Options): Promise<void> {
  const { keys_file } = readConfig(env);
  if (existsSync(keys_file)) {
    throw new Failure(
      `There is a keys file ${keys_file} already, and it may be needed: move it away first.`,
    );
  }
  const backup = readBackup(resolve(file));
  const text = openKeys(backup, await readPassphrase(options.passphraseFile, false));
  const { key_id } = readSecrets(text, file);
  if (!createDurably(keys_file, text)) throw new Failure(`${keys_file} is there already.`);
  const sentence = `Restored the keys ${key_id} as ${keys_file}.`;
  print(done(sentence, { file: keys_file, key_id }), options.json);
}

function readBackup(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
