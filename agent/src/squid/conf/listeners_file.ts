// The file of listeners next to squid.conf: where a Squid listens by the configuration in force. It
// is for the next agent.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SquidPaths } from './squid_conf.ts';

export interface ListenerInForce {
  /** The port on this machine. */
  port: number;
  exit_ip: string;
  tls: boolean;
}

/**
 * Listeners by the hash of their squid.conf: the one in force, and the one that is about to replace
 * it. So each configuration has its listeners, even if only one of the two files was replaced.
 */
type ListenersFile = Record<string, readonly ListenerInForce[]>;

/** The text of the file, written before `proposed` replaces the current squid.conf. */
export function listenersFile(
  paths: SquidPaths,
  proposed: string,
  listeners: readonly ListenerInForce[],
): string {
  const inForce = readListeners(paths);
  const current = readIfThere(paths.conf);
  const file: ListenersFile = {
    ...(current === undefined || !inForce ? {} : { [hashOf(current)]: inForce }),
    [hashOf(proposed)]: listeners,
  };
  return `${JSON.stringify(file)}\n`;
}

/**
 * The listeners of the current squid.conf; empty if there is none. Undefined: the file does not
 * say, or cannot be read.
 */
export function readListeners(paths: SquidPaths): readonly ListenerInForce[] | undefined {
  const conf = readIfThere(paths.conf);
  if (conf === undefined) return [];
  try {
    const file = JSON.parse(readIfThere(paths.listeners) ?? '{}') as ListenersFile;
    return file[hashOf(conf)];
  } catch {
    return undefined;
  }
}

function hashOf(conf: string): string {
  return createHash('sha256').update(conf).digest('hex');
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
