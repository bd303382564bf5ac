// The TLS certificate: read, checked, and taken anew when its files change.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
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
 * Gives a renewed certificate to the servers without a restart; open connections go on. A broken one
 * is reported and the old one stays. Returns the function that ends the watch.
 */
export function watchCertificate(files: TlsFiles, servers: Server[], log: Logger): () => void {
  const reload = () => {
    try {
      const certificate = readCertificate(files);
      for (const server of servers) server.setSecureContext(certificate);
      log.info('the TLS certificate was reloaded');
    } catch (error) {
      log.error({ err: error }, 'the new TLS certificate is not usable; the old one stays');
    }
  };
  const paths = [files.cert_file, files.key_file];
  for (const path of paths) watchFile(path, { interval: look_milliseconds }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}
