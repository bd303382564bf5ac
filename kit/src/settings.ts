// Settings: reads a program's environment, reports all faults at once, and names what no setting is
// called.
import { type Network, parseNetworks } from './address.ts';
import { type Environment, settingText, unknownSettings } from './environment.ts';

export type { Environment } from './environment.ts';

/** Invalid settings, in the environment or in files that it names. The message has a line each. */
export class SettingsFault extends Error {}

export interface ListenAddress {
  host: string;
  port: number;
}

/** The levels of pino, from everything to nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** `127.0.0.1:8080`, `[::1]:8080` or `name:8080`; undefined when it is none of these. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, ipv6, host, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  return port <= 65_535 ? { host: ipv6 ?? host ?? '', port } : undefined;
}

export type Settings = ReturnType<typeof settingsOf>;

/** Reads single settings. An invalid one is a fault, and reads as the fallback. */
export function settingsOf(env: Environment) {
  /** A line for each. */
  const faults: string[] = [];
  /** The names of all settings that were read, set or not. */
  const names = new Set<string>();
  const text = (name: string, fallback: string) => {
    names.add(name);
    return settingText(env, name) || fallback;
  };
  /** The same without a fallback. */
  const optional = (name: string) => text(name, '') || undefined;
  const fault = (name: string, expected: string) =>
    faults.push(
      `${name}: ${JSON.stringify(settingText(env, name))} is not valid; expected ${expected}.`,
    );

  const choice = <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
    const value = text(name, fallback);
    if ((allowed as readonly string[]).includes(value)) return value as T;
    fault(name, `one of ${allowed.join(', ')}`);
    return fallback;
  };
  const flag = (name: string) => choice(name, ['yes', 'no'] as const, 'no') === 'yes';
  const whole = (name: string, fallback: number, least: number, greatest = 10 ** 15 - 1) => {
    const value = text(name, String(fallback));
    const number = Number(value);
    if (/^-?\d{1,15}$/.test(value) && number >= least && number <= greatest) return number;
    fault(name, `a whole number of ${least} to ${greatest}`);
    return fallback;
  };
  const wholeOrNone = (name: string, fallback: number, least: number) =>
    text(name, String(fallback)) === '0' ? 0 : whole(name, fallback, least);
  /** Undefined when it is not set. */
  const optionalWhole = (name: string, least: number, greatest?: number) =>
    optional(name) === undefined ? undefined : whole(name, least, least, greatest);
  const listenAddress = (name: string, fallback: ListenAddress): ListenAddress => {
    const value = optional(name);
    const address = value === undefined ? fallback : parseListenAddress(value);
    if (address) return address;
    fault(
      name,
      `an address and a port such as 127.0.0.1:${fallback.port}; for all addresses of this machine, [::]:${fallback.port}`,
    );
    return fallback;
  };
  const networks = (name: string): Network[] => {
    try {
      return parseNetworks(text(name, ''));
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}.`);
      return [];
    }
  };
  /** Both files or neither. */
  const certificate = (cert: string, key: string) => {
    const files = { cert_file: text(cert, ''), key_file: text(key, '') };
    if ((files.cert_file === '') !== (files.key_file === '')) {
      faults.push(`${cert} and ${key}: set both or neither.`);
    }
    return files.cert_file === '' ? undefined : files;
  };
  /**
   * A line for each variable whose name has this pattern and that was not read.
   * Errors: a SettingsFault with these lines and all faults, if there is any fault.
   */
  const check = (pattern: RegExp) => {
    const unknown = unknownSettings(env, pattern, names);
    if (faults.length > 0) throw new SettingsFault([...faults, ...unknown].join('\n'));
    return unknown;
  };
  return {
    ...{ faults, text, optional, fault, choice, flag, whole, wholeOrNone, optionalWhole },
    ...{ listenAddress, networks, certificate, check },
  };
}

/** The settings that a reader returns, or the lines of its SettingsFault. */
export function settingsOrFaults<T>(read: () => T): [settings: T | undefined, faults: string[]] {
  try {
    return [read(), []];
  } catch (error) {
    if (!(error instanceof SettingsFault)) throw error;
    return [undefined, error.message.split('\n')];
  }
}
