// Settings: reads a program's environment, and reports all faults at once.
import { type Network, parseNetworks } from './address.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Invalid settings, in the environment or in files that it names. The message has a line each. */
export class SettingsFault extends Error {}

export interface ListenAddress {
  host: string;
  port: number;
}

/** The levels of pino, from everything to nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** Reads single settings. An invalid one is a fault, and reads as the fallback. */
export function settingsOf(env: Environment) {
  /** A line for each. */
  const faults: string[] = [];
  const text = (name: string, fallback: string) => env[name] || fallback;
  const fault = (name: string, expected: string) =>
    faults.push(`${name}: ${JSON.stringify(env[name])} is not valid; expected ${expected}.`);

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
  /** Errors: a SettingsFault with all faults so far. */
  const check = () => {
    if (faults.length > 0) throw new SettingsFault(faults.join('\n'));
  };
  return { faults, text, fault, choice, flag, whole, wholeOrNone, networks, certificate, check };
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
