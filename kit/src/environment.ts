// The environment of a program, and what in it is not a setting. It needs no package.
import { nearest } from './similar.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A value without the spaces and the CR around it that editors leave; empty when it is not set. */
export const settingText = (env: Environment, name: string): string => env[name]?.trim() ?? '';

/**
 * A sentence for each variable whose name has the pattern and is not among the settings' names:
 * most are misspelt. Values are not shown, since they may be secrets.
 */
export function unknownSettings(
  env: Environment,
  pattern: RegExp,
  names: Iterable<string>,
): string[] {
  const settings = [...names];
  return Object.entries(env)
    .filter(([name, value]) => value && pattern.test(name) && !settings.includes(name))
    .filter(([name, value = '']) => !isInjected(name, value))
    .map(([name]) => {
      const likely = nearest(name.toUpperCase(), settings).join(' or ');
      const question = likely && ` Did you mean ${likely}?`;
      return `${name}: no setting has this name, so it is ignored.${question}`;
    });
}

/** Whether Kubernetes or Docker made it, for a service or a container named after the program. */
function isInjected(name: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name) ||
    (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))
  );
}
