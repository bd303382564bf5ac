// The rule of the server for short names, for the fields that ask for one: browsers check it before it is sent.

export const nameRule = {
  maxLength: 63,
  autocapitalize: 'off',
  pattern: '\\s*[A-Za-z0-9][A-Za-z0-9._@\\-]*\\s*',
  title: 'Letters, digits, . _ @ and -, beginning with a letter or digit.',
} as const;
