// What the server takes for a short name, for the fields that ask for one: browsers say it before it is sent.

export const nameRule = {
  maxLength: 63,
  autocapitalize: 'off',
  pattern: '\\s*[A-Za-z0-9][A-Za-z0-9._@\\-]*\\s*',
  title: 'Letters, digits, . _ @ and -, beginning with a letter or digit.',
} as const;
