// The settings of `npm start` that are not the server's: which ports its proxy has, and which of
// its nodes run.
import { type Environment, settingsOf } from '../kit/src/settings.ts';

export interface Settings {
  /** Of the default port scheme, the plain base that is offered to copy. */
  port_base: number;
  /** Whether the servers that are not on this machine have simulated nodes. */
  isSimulating: boolean;
}

/** Errors: a SettingsFault with a line for each setting that is wrong. */
export function readSettings(env: Environment): Settings {
  const { whole, choice, check } = settingsOf(env);
  const port_base = whole('EXITWARD_DEMO_PORT_BASE', 11_000, 2024, 63_000);
  const nodes = choice('EXITWARD_DEMO_NODES', ['simulated', 'off'], 'simulated');
  check(/^exitward_demo_/i);
  return { port_base, isSimulating: nodes === 'simulated' };
}

/** The environment without the settings above, which the server does not have. */
export function settingsOfServer(env: Environment): Environment {
  const { EXITWARD_DEMO_PORT_BASE, EXITWARD_DEMO_NODES, ...rest } = env;
  return { EXITWARD_LOG_LEVEL: 'warn', ...rest };
}
