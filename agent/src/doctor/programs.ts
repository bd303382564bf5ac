// The programs that the agent runs: are they installed, and do they have the features it needs?
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { fault, listed, type Outcome, ok, warning } from '../../../kit/src/doctor/check.ts';
import type { Config } from '../config.ts';
import { missingHelper, missingSquid, outputOf, squidPackage } from '../required_programs.ts';
import type { NodeCheck, Subject } from './subject.ts';

/** As in Debian 12. Older ones have other settings, and no reason in the header of a denial. */
const minSquid = 5;

export const programChecks: NodeCheck[] = [
  { name: 'squid', run: squid },
  { name: 'programs', run: programs },
  { name: 'apparmor', run: async (subject) => apparmor(subject) },
  { name: 'firewall', run: firewall },
];

/** The version in the output of `squid -v`. */
function versionIn(text: string): string {
  return /Squid Cache: Version (\d[\w.]*)/.exec(text)?.[1] ?? '0';
}

/** Squid's main version; undefined: it does not run here, or is not installed. */
export async function squidVersion({ engine, squid }: Config): Promise<number | undefined> {
  const text = engine === 'squid' ? await outputOf(squid, '-v') : undefined;
  return text === undefined ? undefined : Number.parseInt(versionIn(text), 10);
}

async function squid({ config }: Subject): Promise<Outcome> {
  if (config.engine === 'embedded') return ok('The embedded engine needs no Squid.');
  const missing = await missingSquid(config);
  if (missing) return fault(missing.sentence, missing.remedy);
  const text = (await outputOf(config.squid, '-v')) ?? '';
  const version = versionIn(text);
  if (Number.parseInt(version, 10) < minSquid) {
    return fault(
      `Squid has version ${version}; expected ${minSquid} or newer.`,
      `${squidPackage}, of Debian 12 or newer`,
    );
  }
  if (!/--with-openssl\b/.test(text)) {
    return warning(
      `Squid ${version} is built without OpenSSL: ports that clients speak TLS to do not open.`,
      squidPackage,
    );
  }
  if (!/^proxy:/m.test(readFileSync('/etc/passwd', 'utf8'))) {
    return fault('There is no user proxy, which Squid runs as.', squidPackage);
  }
  // As for /tmp, every user may create files there, and Squid's user does not own it.
  if ((statSync('/dev/shm', { throwIfNoEntry: false })?.mode ?? 0) % 0o10 < 0o7) {
    return fault(
      "There is no shared memory for Squid's user: /dev/shm is missing, or closed to it.",
      'mount -t tmpfs -o mode=1777 shm /dev/shm',
    );
  }
  return ok(`Squid has version ${version}, with OpenSSL.`);
}

async function programs({ config }: Subject): Promise<Outcome> {
  if (config.engine === 'embedded') return ok('The embedded engine runs no other program.');
  const missing = (await missingHelper('ss')) ?? (await missingHelper('setpriv'));
  if (!missing) return ok('The other programs that the agent runs are installed.');
  return fault(missing.sentence, missing.remedy);
}

/** The kernel's list: `/usr/sbin/squid (enforce)`. Missing without AppArmor. */
const profiles = '/sys/kernel/security/apparmor/profiles';

function apparmor({ config }: Subject): Outcome {
  const list = existsSync(profiles) ? readFileSync(profiles, 'utf8') : '';
  const enforced = enforcedProfiles(list, [config.squid, config.vpn.charon]);
  const [first] = enforced;
  if (first === undefined) return ok('AppArmor enforces no profile of a program of the agent.');
  return warning(
    `AppArmor enforces the profile of ${listed(enforced)}: it cannot read the configuration in ${config.state_dir}.`,
    `aa-complain ${first}`,
  );
}

/** The programs whose AppArmor profile is enforced, by the kernel's list. */
export function enforcedProfiles(list: string, programs: readonly string[]): string[] {
  const isEnforced = (program: string) => {
    const names = [program, basename(program)];
    return names.some((name) => list.split('\n').includes(`${name} (enforce)`));
  };
  return programs.filter(isEnforced);
}

async function firewall({ config }: Subject): Promise<Outcome> {
  if (config.guard === 'off') {
    return ok(
      'The guard in the kernel is off (EXITWARD_AGENT_GUARD); the engine refuses by itself.',
    );
  }
  const missing = await missingHelper('nft');
  if (missing) return fault(missing.sentence, missing.remedy);
  // Reading needs the same rights as writing.
  const rules = await outputOf('nft', 'list', 'tables').catch((error: Error) => error);
  if (rules instanceof Error) {
    return fault(
      `The guard cannot be put into the kernel: ${rules.message}.`,
      'modprobe nf_tables',
    );
  }
  return ok('nftables accepts the rules of the guard.');
}
