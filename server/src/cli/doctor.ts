// exitward doctor: what the running server reports about itself, and checks of this machine's
// files, disks, clock and name.

import { findingsPart } from '../../../kit/src/cli/findings.ts';
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
import { readConfig, readOperatorAccess } from '../config.ts';
import { version } from '../values/version.ts';
import { AdminApi, destinationOf, NoServer } from './api.ts';
import { command } from './command.ts';

export const doctor = command({
  name: 'doctor',
  summary: 'look at the server and its machine; say what is wrong and what mends it',
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
  const [config, wrong] = settingsOrFaults(() => readConfig(env));
  if (!config) return wrong.map((sentence) => settingsFinding(sentence));
  const unknown = config.unknown_settings.map((sentence) => settingsFinding(sentence, warning));
  const [isRunning, serverFindings] = await askServer(env);
  const { stoppedDatabase } = await import('../doctor/database.ts');
  const { diskChecks } = await import('../doctor/disk.ts');
  const { fileChecks } = await import('../doctor/files.ts');
  const { outsideChecks } = await import('../doctor/outside.ts');
  const local: Check[] = [
    ...fileChecks(config, isRunning),
    ...diskChecks(config, systemClock),
    ...(isRunning ? [] : [stoppedDatabase(config, systemClock)]),
    ...outsideChecks(config, systemClock, isRunning),
  ];
  return [...unknown, ...serverFindings, ...(await runChecks(local))];
}

function settingsFinding(sentence: string, outcome: typeof fault = fault): Finding {
  const remedy = 'set it right in /etc/exitward/exitward.env, or the environment';
  return { name: 'settings', ...outcome(sentence, remedy) };
}

interface Running {
  version: string;
  findings: Finding[];
}

/** Whether a server answers, and the findings that it reports. */
async function askServer(env: Environment): Promise<[isRunning: boolean, findings: Finding[]]> {
  try {
    const report = await new AdminApi(env).get<Running>('/doctor');
    return [true, [...report.findings, ...unrestartedUpgrade(report.version)]];
  } catch (error) {
    const { message } = error as Error;
    const isRunning = !(error instanceof NoServer) && (await answers(env));
    const outcome = isRunning
      ? fault(message, 'as the sentence says; or run it as root')
      : warning(
          'No server runs here, or answers at EXITWARD_ADMIN_URL: nodes, descriptors and listeners were not looked at.',
          'systemctl enable --now exitward; systemctl status exitward',
        );
    return [isRunning, [{ name: 'server', ...outcome }]];
  }
}

/** Whether anything answers there, even without a valid token. */
function answers(env: Environment): Promise<boolean> {
  const { url } = destinationOf(readOperatorAccess(env));
  const signal = AbortSignal.timeout(5000);
  return fetch(`${url}/healthz`, { signal }).then(
    () => true,
    () => false,
  );
}

/** An upgrade without a restart. */
function unrestartedUpgrade(running: string): Finding[] {
  if (running === version) return [];
  const sentence = `The server that runs is of version ${running}, and this program of ${version}.`;
  return [{ name: 'server', ...warning(sentence, 'systemctl restart exitward') }];
}
