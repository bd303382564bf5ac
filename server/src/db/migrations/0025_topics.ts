// The twenty-fifth schema: versions tell which lists of an account have changed; the network's row, those of any account.

export function topics(): string[] {
  return ['authlist', 'overrides', 'users'].map(
    (topic) => `alter table versions add column ${topic}_revision bigint not null default 0`,
  );
}
