// The sixteenth schema: the public halves of the signing keys and how each stands, and which process holds which keys.

/**
 * Times in epoch seconds. A key is prepared (nodes are told), activated (it signs), superseded (it verifies until
 * `last_expiry`, the end of the last token that it signed), and gone. `kids` of a process: between commas.
 */
export function signingKeys(): string[] {
  return [
    `create table signing_keys (
      kid text primary key,
      public_key text not null,
      prepared_at bigint not null,
      prepared_revision bigint not null,
      activated_at bigint,
      superseded_at bigint,
      last_expiry bigint not null,
      gone_at bigint
    )`,
    `create table key_holders (
      process text primary key,
      kids text not null,
      seen_at bigint not null
    )`,
  ];
}
