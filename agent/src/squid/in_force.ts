// What a Squid listens on by its own configuration file, which outlives the agent that wrote it.
import { readFileSync } from 'node:fs';

/** The exit of each port of this machine; none when there is no configuration. */
export function exitsInForce(conf_file: string): Map<number, string> {
  const text = readIfThere(conf_file);
  const ports = [...text.matchAll(/^https?_port (?:\S+:)?(\d+) name=(\S+) /gm)];
  const portOf = new Map(ports.map(([, port, name]) => [name, Number(port)]));
  const exits = text.matchAll(/^tcp_outgoing_address (\S+) (exit_\d+)$/gm);
  const exitOf = new Map(Array.from(exits, ([, exit_ip, group]) => [group, exit_ip]));
  const inForce = new Map<number, string>();
  for (const [, group, names = ''] of text.matchAll(/^acl (exit_\d+) myportname (.*)$/gm)) {
    for (const name of names.split(' ')) {
      const [port, exit_ip] = [portOf.get(name), exitOf.get(group)];
      if (port !== undefined && exit_ip !== undefined) inForce.set(port, exit_ip);
    }
  }
  return inForce;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
