// The settings that the doctor goes by: those of the server that runs, whatever the shell has.
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { sqliteFile } from './disk.ts';

/** As a running server reports them; none is a secret. */
export interface ReportedSettings
  extends Pick<
    Config,
    'data_dir' | 'keys_file' | 'admin_token_file' | 'public_url' | 'node_url' | 'tls_terminated'
  > {
  /** Null on PostgreSQL. */
  sqlite_file: string | null;
  /** Null: the server speaks no TLS itself. */
  tls: { cert_file: string; key_file: string } | null;
}

export function reportedSettings(config: Config): ReportedSettings {
  const { data_dir, keys_file, admin_token_file, public_url, node_url, tls_terminated } = config;
  const file = sqliteFile(config);
  return {
    ...{ data_dir, keys_file, admin_token_file, public_url, node_url, tls_terminated },
    sqlite_file: file === undefined ? null : resolve(file),
    tls: config.tls ?? null,
  };
}

/** This machine's settings, with those of its running server. */
export function withReported(config: Config, reported: ReportedSettings): Config {
  const { sqlite_file, tls, ...same } = reported;
  const database_url = sqlite_file === null ? 'postgres:' : `sqlite:${sqlite_file}`;
  return { ...config, ...same, database_url, tls: tls ?? undefined };
}
