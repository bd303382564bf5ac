// exitward doctor: what the running server reports about itself, and checks of this machine's
// files, disks, clock and name.

import { RequestFailure } from '../../../kit/src/cli/failures.ts';
import { findingsPart } from '../../../kit/src/cli/findings.ts';
import { commandFetch } from '../../../kit/src/cli/https_proxy.ts';
import {
  type Check,
  type Finding,
  fault,
  runChecks,
  warning,
  worst,
} from '../../../kit/src/doctor/check.ts';
import { type Environment, settingsOrFaults } from '../../../kit/src/settings.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig, readOperatorAccess } from '../config.ts';
import type { ReportedSettings } from '../doctor/settings.ts';
import { installation } from '../install/installation.ts';
import { version } from '../values/version.ts';
import { AdminApi, destinationOf, NoServer } from './api.ts';
import { command } from './command.ts';
import { LostData } from './lost_data.ts';

export const doctor = command({
  name: 'doctor',
  summary: 'check the server and its machine, and say how to fix problems',
  reportsSettings: true,
  run: async (_given, env) => {
    const findings = await examine(env);
    const state = worst(findings);
    const parts = [findingsPart(findings, process.stdout.isTTY)];
    return { value: { version, state, findings }, parts, code: state === 'fault' ? 1 : 0 };
  },
});

/** All findings, whether a server runs or not. */
async function examine(env: Environment): Promise<Finding[]> {
  const [own, wrong] = settingsOrFaults(() => readConfig(env));
  if (!own) return wrong.map((sentence) => settingsFinding(sentence));
  const unknown = own.unknown_settings.map((sentence) => settingsFinding(sentence, warning));
  const { isRunning, findings: serverFindings, settings } = await askServer(env, own);
  const { withReported } = await import('../doctor/settings.ts');
  const config = settings ? withReported(own, settings) : own;
  const { diskChecks, sqliteFile } = await import('../doctor/disk.ts');
  // A server whose database does not answer has no findings. A file is not for two programs.
  const isDatabaseUnseen = !isRunning || (!settings && sqliteFile(own) === undefined);
  const { stoppedDatabase } = await import('../doctor/database.ts');
  const { fileChecks } = await import('../doctor/files.ts');
  const { outsideChecks } = await import('../doctor/outside.ts');
  const local: Check[] = [
    ...fileChecks(config, isRunning),
    ...diskChecks(config, systemClock),
    ...(isDatabaseUnseen ? [stoppedDatabase(config, systemClock)] : []),
    ...outsideChecks(config, systemClock, isRunning),
  ];
  return [...unknown, ...serverFindings, ...(await runChecks(local))];
}

function settingsFinding(sentence: string, outcome: typeof fault = fault): Finding {
  const remedy = `correct it in ${installation.settings}`;
  return { name: 'settings', ...outcome(sentence, remedy) };
}

const otherToken = 'a valid token in EXITWARD_ADMIN_TOKEN; or run it as root';
const logOfServer = installation.isService ? 'journalctl -u exitward -n 50' : "the server's log";

interface Running {
  version: string;
  /** Older servers do not report them. */
  settings?: ReportedSettings;
  findings: Finding[];
}

interface Asked extends Pick<Running, 'settings' | 'findings'> {
  isRunning: boolean;
}

/** Whether the server answers, its settings, and the findings that it reports. */
async function askServer(env: Environment, { data_dir }: Config): Promise<Asked> {
  try {
    const { version, settings, findings } = await new AdminApi(env).get<Running>('/doctor');
    const all = [...findings, ...unrestartedUpgrade(version)];
    return { isRunning: true, findings: all, ...(settings ? { settings } : {}) };
  } catch (error) {
    if (error instanceof LostData) {
      const { sentence, remedy } = error;
      return { isRunning: true, findings: [{ name: 'server', ...fault(sentence, remedy) }] };
    }
    const { message } = error as Error;
    const isRunning = !(error instanceof NoServer) && (await answers(env));
    const isNamed = error instanceof NoServer && readOperatorAccess(env).admin_url !== undefined;
    const outcome = isRunning
      ? fault(message, error instanceof RequestFailure ? logOfServer : otherToken)
      : unseen(isNamed, data_dir, message);
    return { isRunning, findings: [{ name: 'server', ...outcome }] };
  }
}

/** No server answers: none of this folder, or not the one that the environment names. */
function unseen(isNamed: boolean, data_dir: string, message: string) {
  if (isNamed) {
    const sentence = `${message} Its nodes, descriptors and listeners were not checked.`;
    return warning(sentence, 'correct EXITWARD_ADMIN_URL, or unset it');
  }
  return warning(
    `No server of ${data_dir} runs: nodes, descriptors and listeners were not checked.`,
    `${installation.start}; for a server elsewhere, set EXITWARD_ADMIN_URL`,
  );
}

/** Whether this network's server answers, even without a valid token. */
async function answers(env: Environment): Promise<boolean> {
  const { url, isOwn } = destinationOf(readOperatorAccess(env));
  if (!isOwn) return false;
  const signal = AbortSignal.timeout(5000);
  return commandFetch(`${url}/healthz`, { signal }).then(
    () => true,
    () => false,
  );
}

/** An upgrade without a restart. */
function unrestartedUpgrade(running: string): Finding[] {
  if (running === version) return [];
  const sentence = `The running server is version ${running}; this program is version ${version}.`;
  return [{ name: 'server', ...warning(sentence, installation.restart) }];
}
