// The TLS certificate: read, checked, and taken anew when its files change.
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type Server } from 'node:tls';
import type { Logger } from 'pino';

export interface TlsFiles {
  cert_file: string;
  key_file: string;
}

export interface Certificate {
  cert: Buffer;
  key: Buffer;
}

const look_milliseconds = 1000;

/** Errors: one sentence when the files cannot be read or do not belong together. */
export function readCertificate({ cert_file, key_file }: TlsFiles): Certificate {
  let read: Certificate;
  try {
    read = { cert: readFileSync(cert_file), key: readFileSync(key_file) };
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    throw new Error(`The TLS file ${path ?? cert_file} cannot be read (${code}).`);
  }
  try {
    createSecureContext(read);
  } catch (error) {
    const reason = (error as Error).message.replace(/^error:[^:]*:[^:]*::?/, '');
    throw new Error(`The TLS certificate ${cert_file} and key ${key_file} are no pair: ${reason}.`);
  }
  return read;
}

/**
 * Gives a certificate that is another than `shown` to the servers without a restart; open connections go on. A broken one
 * is reported and the old one stays. Returns the function that ends the watch.
 */
export function watchCertificate(
  files: TlsFiles,
  shown: Certificate,
  servers: Server[],
  log: Logger,
): () => void {
  let current = shown;
  let looked = '';
  // The first look reads: the files may have changed since they were.
  const look = () => {
    const found = [files.cert_file, files.key_file].map(stateOf).join(' ');
    if (found === looked) return;
    looked = found;
    try {
      const certificate = readCertificate(files);
      if (certificate.cert.equals(current.cert) && certificate.key.equals(current.key)) return;
      for (const server of servers) server.setSecureContext(certificate);
      current = certificate;
      log.info('the TLS certificate was reloaded');
    } catch (error) {
      log.error({ err: error }, 'the new TLS certificate is not usable; the old one stays');
    }
  };
  const timer = setInterval(look, look_milliseconds);
  timer.unref();
  return () => clearInterval(timer);
}

/** Another one whenever a file may have been written or replaced. */
function stateOf(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code}`;
  }
}
