// How a program was installed. Remedies name the files and commands of that installation.
import { existsSync } from 'node:fs';

/** A program that a Debian package runs as a service. */
export interface Service {
  /** Of the package, the service, and the folder in /usr/lib. */
  name: string;
  /** The package's file of settings. */
  settings: string;
  /** Runs the program without the package. */
  command: string;
}

/** Parts of remedies. */
export interface Installation {
  isService: boolean;
  /** Where this program reads its settings. */
  settings: string;
  start: string;
  restart: string;
  /** How to run the program with `NAME=VALUE`. */
  withSetting(assignment: string): string;
}

/**
 * `folder`: of the running program. `isBooted`: whether systemd runs here. Without the package, in
 * a container and in a bare root, a program has its settings from the environment alone.
 */
export function installationOf(
  folder: string,
  { name, settings, command }: Service,
  isBooted = existsSync('/run/systemd/system'),
): Installation {
  if (isBooted && folder.startsWith(`/usr/lib/${name}/`)) {
    const restart = `systemctl restart ${name}`;
    return {
      isService: true,
      settings: `${settings}, or the environment`,
      start: `systemctl enable --now ${name}`,
      restart,
      withSetting: (assignment) => `${assignment} in ${settings}, then: ${restart}`,
    };
  }
  const stop = `stop "${command}", then:`;
  return {
    isService: false,
    settings: 'the environment',
    start: command,
    restart: `${stop} ${command}`,
    withSetting: (assignment) => `${stop} ${assignment} ${command}`,
  };
}
