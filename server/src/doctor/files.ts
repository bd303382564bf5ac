// The files that the server starts with: its folder, its keys, the operator's token.
import { readFileSync, type Stats, statSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { type Check, fault, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import { isThere, OpenToOthers, readPrivate } from '../../../kit/src/private_files.ts';
import type { Config } from '../config.ts';
import { Secrets } from '../keys/secrets.ts';
import { sqliteFile } from './disk.ts';

/** `isRunning`: a running server must have its files. */
export function fileChecks(config: Config, isRunning: boolean): Check[] {
  return [
    { name: 'data_folder', run: () => dataFolder(config, isRunning) },
    { name: 'keys', run: () => keys(config, isRunning || hasDatabase(config)) },
    { name: 'operator_token', run: () => operatorToken(config, isRunning) },
  ];
}

function hasDatabase(config: Config): boolean {
  const file = sqliteFile(config);
  return file !== undefined && isThere(file);
}

async function dataFolder({ data_dir }: Config, mustExist: boolean): Promise<Outcome> {
  const stat = statSync(data_dir, { throwIfNoEntry: false });
  if (!stat && mustExist) {
    return fault(`The data folder ${data_dir} is gone while the server runs.`, 'move it back');
  }
  if (!stat) return ok(`There is no ${data_dir} yet; the first start makes it.`);
  try {
    await access(data_dir, constants.W_OK | constants.X_OK);
  } catch (error) {
    return fault(
      `The data folder ${data_dir}, of ${ownerOf(stat)}, cannot be written by this user (${(error as NodeJS.ErrnoException).code}).`,
      'run it as root, or as the user of the server; else chown',
    );
  }
  if ((stat.mode & 0o007) !== 0) {
    return warning(
      `Other users of this machine may look into ${data_dir} (mode ${modeOf(stat)}).`,
      `chmod 0700 ${data_dir}`,
    );
  }
  return ok(`The data folder ${data_dir} is of ${ownerOf(stat)}, mode ${modeOf(stat)}.`);
}

function keys({ keys_file, mounted_secrets }: Config, mustExist: boolean): Outcome {
  const restore = `put the copy of ${keys_file} back that you keep elsewhere`;
  const text = readOrOutcome(keys_file, mounted_secrets);
  if (typeof text === 'object') return text;
  if (text === undefined) {
    return mustExist
      ? fault(
          `There is no keys file ${keys_file}: the next start fails, and no token or backup is of use without it.`,
          restore,
        )
      : ok(`There is no keys file ${keys_file} yet; the first start makes it.`);
  }
  try {
    new Secrets(JSON.parse(text));
  } catch {
    return fault(`The keys file ${keys_file} is damaged.`, restore);
  }
  return ok(`The keys file ${keys_file} is whole; ${readersOf(keys_file)}.`);
}

function operatorToken(config: Config, isRunning: boolean): Outcome {
  const { admin_token_file, mounted_secrets } = config;
  const text = readOrOutcome(admin_token_file, mounted_secrets);
  if (typeof text === 'object') return text;
  if (text === undefined) {
    return ok(
      isRunning
        ? `There is no ${admin_token_file}; operators have tokens of their own.`
        : `There is no ${admin_token_file} yet; the first start makes it.`,
    );
  }
  return ok(`The operator token ${admin_token_file} is there; ${readersOf(admin_token_file)}.`);
}

/**
 * The text of a private file; undefined: it does not exist. An outcome: others may read it, or this
 * user may not.
 */
function readOrOutcome(path: string, mounted: string | undefined): string | undefined | Outcome {
  try {
    return readPrivate(path, { anyOwner: true, mounted });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof OpenToOthers) {
      return fault(message, error.remedy);
    }
    if (code === 'ENOENT') return undefined;
    return fault(
      `${path} cannot be read (${code}).`,
      'run it as root, or as the user of the server',
    );
  }
}

function readersOf(path: string): string {
  const stat = statSync(path);
  const owner = ownerOf(stat);
  const others = owner === 'root' ? 'root alone' : `${owner} and root`;
  return `${others} may read it (mode ${modeOf(stat)})`;
}

function ownerOf({ uid }: Stats): string {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n');
    return (
      users.map((line) => line.split(':')).find(([, , id]) => id === `${uid}`)?.[0] ?? `${uid}`
    );
  } catch {
    return `${uid}`;
  }
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
