// A port as a doctor sees it: whether it takes connections, and the certificate that it shows.
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** How long each step may take. */
export const stepSeconds = 5;
const silence = `nothing within ${stepSeconds} seconds`;

/** Undefined if a connection is accepted, else why not. `from`: its local address. */
export function canConnect(host: string, port: number, from?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) });
    const end = (error: string | undefined) => {
      socket.destroy();
      resolve(error);
    };
    socket.setTimeout(stepSeconds * 1000, () => end(silence));
    socket.once('connect', () => end(undefined));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

export interface ShownCertificate {
  /** Separated by commas; empty: none. */
  names: string;
  /** Dates as OpenSSL writes them. */
  valid_from: string;
  valid_to: string;
  /** Whether it is valid for the host, by the authorities that this machine knows. */
  authorized: boolean;
  /** The code of the fault of one that is not. */
  error: string | undefined;
}

/** The certificate that an address of a host shows. Errors: there is no TLS. */
export async function shownCertificate(
  host: string,
  address: string,
  port: number,
): Promise<ShownCertificate> {
  const socket = connectTls({
    host: address,
    port,
    ...(isIP(host) ? {} : { servername: host }),
    rejectUnauthorized: false,
  });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(stepSeconds * 1000, () => socket.destroy(new Error(silence)));
      socket.once('secureConnect', resolve);
      socket.on('error', reject);
    });
    const { valid_from, valid_to, subjectaltname = '' } = socket.getPeerCertificate();
    const names = subjectaltname.replaceAll(/(DNS|IP Address):/g, '');
    const code = socket.authorizationError as unknown as { code?: string } | string | undefined;
    const error = typeof code === 'string' ? code : code?.code;
    return { names, valid_from, valid_to, authorized: socket.authorized, error };
  } finally {
    socket.destroy();
  }
}
