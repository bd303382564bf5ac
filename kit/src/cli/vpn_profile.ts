// A VPN profile, as both command lines show and write it: values to type, or files for devices.
import { UsageFault } from './failures.ts';
import type { Column, Shown } from './output.ts';
import { type OutputFile, shownFile, writeFiles } from './output_files.ts';

export interface VpnProfile {
  login: string;
  expiry: number | null;
  servers: object[];
  files: Array<OutputFile & { format: string }>;
}

export const profileFormats = ['apple', 'windows', 'android', 'networkmanager', 'strongswan'];

const loginColumns: Column[] = ['login', ['expiry', 'expiry', 'time']];
const serverColumns: Column[] = [
  'server',
  ['services', 'services', 'list'],
  'hostname',
  ['exit IP', 'exit_ip'],
  ['exit IPs', 'exit_ips', 'list'],
  'password',
  'shared_key',
];

/** The values to type into a device: first the login, then those of each server. */
export function profileParts(profile: VpnProfile): Shown['parts'] {
  const servers = profile.servers.map((record) => ({ record, columns: serverColumns }));
  return [{ record: profile, columns: loginColumns }, ...servers];
}

/**
 * Writes the files, or those of one format, to `output`; without `output` shows the one file.
 * `write` makes each its owner's alone. Errors: a usage fault when there is no such file.
 */
export function takeFiles(
  { files: all }: VpnProfile,
  format: string | undefined,
  output: string | undefined,
  write: (path: string, bytes: Buffer) => void,
): Shown {
  const files = all.filter((file) => format === undefined || file.format === format);
  const [file, ...others] = files;
  if (!file)
    throw new UsageFault(`there is no${format ? ` ${format}` : ''} file for these servers`);
  return output === undefined
    ? shownFile(file, ...others)
    : writeFiles(files, output, format === undefined, write);
}
