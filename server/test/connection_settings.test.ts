// The settings of a connection to PostgreSQL, from its URL.
import { expect, test } from 'vitest';
import { connectionSettings } from '../src/db/postgres_connection.ts';

const url = (query: string) => `postgres://exitward@db.example/exitward?${query}`;
const modeOf = (query: string) =>
  new URL(connectionSettings(url(query)).connectionString as string).searchParams.get('sslmode');

test('each way of TLS that a URL asks for verifies certificate and name, except no-verify', () => {
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
    expect(modeOf(`sslmode=${mode}`)).toBe('verify-full');
  }
  for (const mode of ['no-verify', 'disable']) expect(modeOf(`sslmode=${mode}`)).toBe(mode);
  expect(modeOf('')).toBeNull();
});

test('a URL that asks for the meaning of libpq keeps it', () => {
  expect(modeOf('sslmode=require&uselibpqcompat=true')).toBe('require');
});

test('time limits in the URL replace the usual ones, and are not sent as parameters of a connection', async () => {
  const { connectionString, onConnect } = connectionSettings(url('statement_timeout=1234'));
  expect(connectionString).not.toContain('statement_timeout');
  const queries: string[] = [];
  await onConnect({ query: async (text: string) => queries.push(text) } as never);
  expect(queries.join()).toContain(`set_config('statement_timeout', '1234', false)`);
});
