// The programs without which a node does not start, by its settings, each with the command that
// installs it. Programs that only a VPN needs become faults of the running node (vpn/machine.ts).
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Config } from './config.ts';

const run = promisify(execFile);

/** Debian's package of each. */
const packages = { ss: 'iproute2', setpriv: 'util-linux', nft: 'nftables' };
export const squidPackage = 'apt-get install squid-openssl';
/** The alternative on a machine without Squid, or for an ordinary user. */
export const otherEngine =
  'set EXITWARD_AGENT_ENGINE=embedded, the engine that needs neither Squid nor root';

export interface MissingProgram {
  sentence: string;
  /** A clause without a full stop. */
  remedy: string;
}

/** The output of a program; undefined if it is not installed. Errors: it fails. */
export async function outputOf(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(program, args, { timeout: 10_000 });
    return stdout + stderr;
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === 'ENOENT') return undefined;
    throw new Error(`${program} ${args.join(' ')} fails: ${stderr?.trim() || code}`);
  }
}

/** The programs that these settings need, and that this machine lacks. */
export async function missingPrograms(config: Config): Promise<MissingProgram[]> {
  const { engine, guard } = config;
  const needed = [
    ...(engine === 'squid' ? [missingSquid(config), missingHelper('ss')] : []),
    ...(engine === 'squid' ? [missingHelper('setpriv')] : []),
    ...(guard === 'nftables' ? [missingHelper('nft')] : []),
  ];
  return (await Promise.all(needed)).filter((missing) => missing !== undefined);
}

export async function missingSquid({ squid }: Config): Promise<MissingProgram | undefined> {
  if (await isInstalled(squid)) return undefined;
  return {
    sentence: `There is no ${squid}.`,
    remedy: `${squidPackage}, or name another one (EXITWARD_AGENT_SQUID); or ${otherEngine}`,
  };
}

export async function missingHelper(
  program: keyof typeof packages,
): Promise<MissingProgram | undefined> {
  if (await isInstalled(program)) return undefined;
  return {
    sentence: `There is no ${program}.`,
    remedy: `apt-get install ${packages[program]}`,
  };
}

/** Whether a program can be started; its exit code does not matter. */
async function isInstalled(program: string): Promise<boolean> {
  return (await outputOf(program, '-v').catch(() => '')) !== undefined;
}

/** One line; undefined: none is missing. */
export function missingInWords(missing: readonly MissingProgram[]): string | undefined {
  if (missing.length === 0) return undefined;
  return missing.map(({ sentence, remedy }) => `${sentence} To fix it: ${remedy}.`).join(' ');
}
