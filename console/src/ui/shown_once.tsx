// A secret that the server has just made and does not show again.
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Copy } from './copy.tsx';
import { StartingFocus } from './starting_focus.tsx';

interface ShownOnceProps {
  /** Its name, for "Copy the token". */
  what: string;
  text: string;
  /** Said above it. */
  lead: ComponentChildren;
  /** The ways to use it. */
  children?: ComponentChildren;
  onDone: () => void;
}

export function ShownOnce({ what, text, lead, children, onDone }: ShownOnceProps) {
  return (
    <StartingFocus>
      <p>{lead}</p>
      <div class="stack shown-once">
        <Copy text={text} what={what} />
        {children}
      </div>
      <div class="actions">
        <Button kind="primary" onClick={onDone}>
          Done
        </Button>
      </div>
    </StartingFocus>
  );
}
