// The settings of ACME: which authority is asked, for which names, and where checks are answered.
import { parseListenAddress, type Settings } from '../settings.ts';
import type { ListenAt } from './answers.ts';
import type { ChallengeType } from './protocol.ts';

export interface AcmeSettings {
  /** E-mail address. */
  contact: string;
  directory_url: string;
  challenge: ChallengeType;
  /** A listener for challenges only. */
  listen: ListenAt | undefined;
  /** Undefined: those that the program knows. */
  names: string[] | undefined;
}

/** The chain, and after it its key: one file, so that the two always match. */
export const certificateFile = 'certificate.pem';
/** The folder of that file, in the program's own folder. */
export const acmeFolder = 'tls';

type Name = 'contact' | 'names' | 'directory' | 'challenge' | 'listen';

export interface AcmeSource {
  settings: Settings;
  /** The environment variable of each setting. */
  names: Record<Name, string>;
  /** The host that the program listens on. */
  host: string | undefined;
  /** Whether the program's own listeners answer tls-alpn-01. */
  answers_itself: boolean;
}

const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory';
const challenges: readonly ChallengeType[] = ['tls-alpn-01', 'http-01'];

/** Undefined: ACME is off, as it is without a contact. */
export function readAcme(source: AcmeSource): AcmeSettings | undefined {
  const { names: variables, settings } = source;
  const { text, optional, choice, fault } = settings;
  const contact = optional(variables.contact);
  const directory_url = text(variables.directory, letsEncrypt);
  const challenge = choice(variables.challenge, challenges, 'tls-alpn-01');
  const names = optional(variables.names)
    ?.split(',')
    .map((name) => name.trim().toLowerCase())
    .filter(Boolean);
  if (contact && !/^[^\s@,<>]+@[^\s@,<>]+\.[^\s@,<>]+$/.test(contact)) {
    fault(variables.contact, 'an e-mail address');
  }
  if (URL.parse(directory_url)?.protocol !== 'https:') {
    fault(variables.directory, 'the https URL of the directory of a certificate authority');
  }
  if (names && !(names.length > 0 && names.every(isName))) {
    fault(variables.names, 'DNS names such as proxies.example, separated by commas');
  }
  const listen = listenOf(source, challenge);
  return contact ? { contact, directory_url, challenge, listen, names } : undefined;
}

function listenOf(
  { settings, names, host, answers_itself }: AcmeSource,
  challenge: ChallengeType,
): ListenAt | undefined {
  const text = settings.optional(names.listen);
  if (text !== undefined) {
    const address = parseListenAddress(text);
    if (address && address.port > 0) return address;
    settings.fault(names.listen, 'an address and a port such as 0.0.0.0:80 or [::]:443');
    return undefined;
  }
  if (challenge === 'http-01') return { host, port: 80 };
  return answers_itself ? undefined : { host, port: 443 };
}

/** Whether it can be certified: a DNS name in ASCII with a dot, no address and no wildcard. */
export function isName(text: string): boolean {
  const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
  return text.length <= 253 && new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`).test(text);
}
