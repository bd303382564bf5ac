// The settings of `npm start` that are not the server's: which ports it has, which of its nodes
// run, and whether the real one keeps a connection log.
import { readConfig } from '../agent/src/config.ts';
import { type Environment, settingsOf } from '../kit/src/settings.ts';
import { highestPortBase, listenersFor, lowestPortBase, usualPortBase } from './ports.ts';

export interface Settings {
  /** Of the default port scheme, the plain base that is offered to copy. */
  port_base: number;
  /** Whether the servers that are not on this machine have simulated nodes. */
  isSimulating: boolean;
  /** Of the environment, for the real node. */
  node_settings?: Environment;
}

/** The settings of a node that the demo passes on begin like this. */
const connectionLog = 'EXITWARD_AGENT_CONNECTION_LOG';

/** Errors: a SettingsFault with a line for each setting that is wrong. */
export function readSettings(env: Environment): Settings {
  const { whole, choice, check } = settingsOf(env);
  const port_base = whole(
    'EXITWARD_DEMO_PORT_BASE',
    usualPortBase,
    lowestPortBase,
    highestPortBase,
  );
  const nodes = choice('EXITWARD_DEMO_NODES', ['simulated', 'off'], 'simulated');
  check(/^exitward_demo_/i);
  const given = Object.entries(env).filter(([name]) => name.startsWith(connectionLog));
  const node_settings = Object.fromEntries(given);
  // A wrong one is said at once.
  readConfig(node_settings);
  return { port_base, isSimulating: nodes === 'simulated', node_settings };
}

/** The settings of the server: of the environment, or of the demo where that has none. */
export function settingsOfServer(env: Environment, port_base: number): Environment {
  const { EXITWARD_DEMO_PORT_BASE, EXITWARD_DEMO_NODES, ...rest } = env;
  return { EXITWARD_LOG_LEVEL: 'warn', ...listenersFor(port_base), ...rest };
}
