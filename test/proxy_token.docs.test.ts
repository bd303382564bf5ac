// Proxy access tokens as docs/node.md describes them to authors of agents: its function and its
// example are true.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TokenReader } from '../agent/src/policy/tokens.ts';
import { newKeys } from '../server/src/keys/keys_file.ts';
import { Secrets } from '../server/src/keys/secrets.ts';

type ReadToken = (token: string, keys: Map<string, string>) => object | undefined;

const text = readFileSync(new URL('../docs/node.md', import.meta.url), 'utf8');
const section = text.slice(text.indexOf('## Proxy access tokens'));
const [, program = ''] = /```js\n(.*?)```/s.exec(section) ?? [];
const [token = ''] = /^ewt_\S+$/m.exec(section) ?? [];
const [, kid = '', public_key = ''] = /"kid":"(\w+)","public_key":"([\w-]+)"/.exec(text) ?? [];
const keys = new Map([[kid, public_key]]);
const { readToken } = (await import(`data:text/javascript,${encodeURIComponent(program)}`)) as {
  readToken: ReadToken;
};

const agent = new TokenReader();
agent.replaceKeys([{ kid, public_key }]);

test('the token of the example is genuine with the key of the example', () => {
  const claims = { account: 1, user: 1, token_version: 1, expiry: 1_826_765_247 };
  expect(section).toContain(public_key);
  expect(readToken(token, keys)).toEqual(claims);
  expect(agent.read(token)).toEqual({ kid, ...claims });
  expect(readToken(token, new Map([['other', public_key]]))).toBeUndefined();
});

test('with any character changed it is not, for the function and for our agent', () => {
  const anyText = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 });
  fc.assert(
    fc.property(fc.nat(token.length - 1), anyText, (at, other) => {
      fc.pre(token[at] !== other);
      const changed = token.slice(0, at) + other + token.slice(at + 1);
      expect([readToken(changed, keys), agent.read(changed)]).toEqual([undefined, undefined]);
    }),
  );
});

test('the function reads what the control plane signs', () => {
  const secrets = new Secrets(newKeys());
  const publicKeys = new Map(secrets.publicKeys().map((key) => [key.kid, key.public_key]));
  const claims = { token_version: 7, expiry: 1_900_000_000 };
  const made = secrets.signProxyToken({ account_id: 12, user_id: 34, ...claims });
  expect(readToken(made, publicKeys)).toEqual({ account: 12, user: 34, ...claims });
});
