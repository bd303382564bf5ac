// The doctor: checks the machine before and after it joins, and changes nothing. Each problem comes
// with the command that fixes it.

import {
  type Finding,
  fault,
  runChecks,
  type State,
  warning,
  worst,
} from '../../../kit/src/doctor/check.ts';
import { OpenToOthers } from '../../../kit/src/private_files.ts';
import { type Environment, settingsOrFaults } from '../../../kit/src/settings.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config.ts';
import { checkUrl, type Identity, isJoined, policyFolder, readIdentity } from '../identity.ts';
import { installation } from '../installation.ts';
import { askStatus } from '../local.ts';
import type { Policy } from '../policy/policy.ts';
import { Replica } from '../store/replica.ts';
import { version } from '../version.ts';
import { certificateChecks } from './certificate.ts';
import { controlChecks } from './control.ts';
import { diskChecks } from './disk.ts';
import { kernelChecks } from './kernel.ts';
import { nameChecks } from './names.ts';
import { nodeChecks } from './node.ts';
import { findAgent, portChecks } from './ports.ts';
import { programChecks } from './programs.ts';
import type { NodeCheck } from './subject.ts';
import { vpnChecks } from './vpn.ts';
import { vpnPathChecks } from './vpn_path.ts';

/** In the order of the report: from the machine outwards. */
const checks: readonly NodeCheck[] = [
  ...nodeChecks,
  ...programChecks,
  ...certificateChecks,
  ...vpnChecks,
  ...vpnPathChecks,
  ...kernelChecks,
  ...diskChecks,
  ...portChecks,
  ...nameChecks,
  ...controlChecks,
];

export interface Report {
  version: string;
  /** The worst of the findings. */
  state: State;
  findings: Finding[];
}

export interface ExamineOptions {
  /** The control plane's URL; undefined: that of the joined one. */
  url: string | undefined;
  /** A host on the Internet to try; undefined: none. */
  outbound: string | undefined;
}

/** Runs all checks. Errors: one sentence if the URL is invalid. */
export async function examine(env: Environment, options: ExamineOptions): Promise<Report> {
  const url = options.url === undefined ? undefined : checkUrl(options.url);
  const [config, wrong] = settingsOrFaults(() => readConfig(env));
  const findings = wrong.map((sentence) => settingsFinding(sentence));
  if (config) {
    const { unknown_settings } = config;
    findings.push(...unknown_settings.map((sentence) => settingsFinding(sentence, warning)));
    const { identity, damage } = identityOf(config);
    findings.push(...damage);
    const { state_dir } = config;
    const policy = identity && (await readPolicy(state_dir));
    const status = await askStatus(state_dir).catch(() => undefined);
    const subject = {
      ...{ config, clock: systemClock, identity, status },
      url: url ?? identity?.url,
      pid: status && findAgent(state_dir),
      listeners: policy?.listeners,
      server: policy?.server ?? undefined,
      outbound: options.outbound,
    };
    findings.push(
      ...(await runChecks(checks.map(({ name, run }) => ({ name, run: () => run(subject) })))),
    );
  }
  return { version, state: worst(findings), findings };
}

function settingsFinding(sentence: string, outcome: typeof fault = fault): Finding {
  return { name: 'settings', ...outcome(sentence, `set it right in ${installation.settings}`) };
}

function identityOf({ state_dir }: Config): { identity?: Identity; damage: Finding[] } {
  if (!isJoined(state_dir)) return { damage: [] };
  try {
    return { identity: readIdentity(state_dir), damage: [] };
  } catch (error) {
    const remedy = error instanceof OpenToOthers ? error.remedy : 'sudo exitward-agent doctor';
    return { damage: [{ name: 'identity', ...fault((error as Error).message, remedy) }] };
  }
}

/** The policy on disk; undefined if there is none, or it cannot be read. */
async function readPolicy(state_dir: string): Promise<Policy | undefined> {
  const replica = new Replica(policyFolder(state_dir));
  try {
    await replica.load();
    return replica.position && replica.policy;
  } catch {
    return undefined;
  } finally {
    replica.close();
  }
}
