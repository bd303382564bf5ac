// Text to copy: a command, a token, an address.
import { useEffect, useState } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';

interface CopyProps {
  /** The text that is copied. */
  text: string;
  /** Its name in the button's label: "Copy the token". */
  name: string;
  /** Shown instead of the text itself. */
  shown?: string;
}

export function Copy({ text, name, shown = text }: CopyProps) {
  return (
    <div class="copy">
      {/* Long lines scroll: without a mouse their end must be reachable, too. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the focus */}
      <pre tabIndex={0}>
        <code>{shown}</code>
      </pre>
      <CopyButton text={text} name={name} />
    </div>
  );
}

interface CopyButtonProps {
  text: string;
  name: string;
  /** Whether the button has text, next to other buttons that do. */
  inWords?: boolean;
}

export function CopyButton({ text, name, inWords = false }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      setState('failed');
    }
  };
  const icon = state === 'copied' ? 'check' : 'copy';
  return (
    <>
      {inWords ? (
        <Button icon={icon} aria-label={`Copy ${name}`} onClick={copy}>
          Copy
        </Button>
      ) : (
        <IconButton icon={icon} label={`Copy ${name}`} onClick={copy} />
      )}
      <span role="status" class={state === 'failed' ? 'hint' : 'visually-hidden'}>
        {state === 'copied' && `Copied ${name}.`}
        {state === 'failed' && 'The browser didn’t allow it. Select the text and copy it.'}
      </span>
    </>
  );
}
