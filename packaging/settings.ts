// The files of settings in /etc/exitward: every setting of docs/configuration.md as a comment, with
// its default.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const document = join(import.meta.dirname, '../docs/configuration.md');

/** Settings that an installation has another default for than the program. */
const installed: Record<string, string> = { EXITWARD_DATA_DIR: '/var/lib/exitward' };

const heads = {
  server: `# Settings of Exitward, the control plane. A line is NAME=value, without spaces around the sign. What is commented out
# is the default. Restart the server when you changed something: systemctl restart exitward
# Variables of the environment come before this file, which root and the user exitward may read.
`,
  agent: `# Settings of exitward-agent. A line is NAME=value, without spaces around the sign. What is commented out is the default.
# Restart the agent when you changed something: systemctl restart exitward-agent, which ends connections, or, without that:
# systemctl kill -s SIGUSR2 --kill-whom=main exitward-agent
`,
};

interface Setting {
  name: string;
  /**
   * As it is written in a file; undefined: there is none, or it is that of another setting or of
   * the machine.
   */
  value: string | undefined;
  default_text: string;
  meaning: string;
}

/** The text of a file of settings: of the server with its command line, or of the agent. */
export function settingsFile(of: 'server' | 'agent'): string {
  const sections = readSections().filter(({ title }) =>
    of === 'agent' ? title === 'The agent' : !['The agent', 'The demo'].includes(title),
  );
  const texts = sections.map(
    ({ title, settings }) => `\n# ---- ${title} ----\n${settings.map(settingText).join('')}`,
  );
  return heads[of] + texts.join('');
}

function settingText({ name, value, default_text, meaning }: Setting): string {
  const lines = wrapped(value === undefined ? `${meaning} Default: ${default_text}.` : meaning);
  const comment = lines.map((line) => `# ${line}\n`).join('');
  const own = installed[name];
  return `\n${comment}${own === undefined ? `#${name}=${value ?? ''}` : `${name}=${own}`}\n`;
}

/** The tables of the document whose first column names settings. */
function readSections(): Array<{ title: string; settings: Setting[] }> {
  const [, ...parts] = readFileSync(document, 'utf8').split(/^## /m);
  return parts
    .map((part) => ({
      title: part.slice(0, part.indexOf('\n')),
      settings: [...part.matchAll(/^\| `(EXITWARD_\w+)` *\| (.*?) *\| (.*?) *\|$/gm)].map(
        ([, name = '', fallback = '', meaning = '']) => readSetting(name, fallback, meaning),
      ),
    }))
    .filter(({ settings }) => settings.length > 0);
}

function readSetting(name: string, fallback: string, meaning: string): Setting {
  const [, literal] = /^`([^`]*)`(?: \([^)]*\)|; .*| for root, .*)?$/.exec(fallback) ?? [];
  const value = literal?.replace('DATA_DIR', installed.EXITWARD_DATA_DIR ?? '');
  const isOwn = value !== undefined && !/ of the control plane/.test(fallback);
  return {
    name,
    value: isOwn ? value : undefined,
    default_text: plain(fallback),
    meaning: plain(meaning),
  };
}

/** Markdown as one reads it in a comment. */
function plain(text: string): string {
  return text.replaceAll('`', '').replace(/\[([^\]]*)\]\(([^)]*)\)/g, '$1');
}

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (`${lines[last]} ${word}`.length > 110) lines.push(word);
    else lines[last] = `${lines[last]} ${word}`.trimStart();
  }
  return lines;
}
