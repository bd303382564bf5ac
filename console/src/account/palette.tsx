// The palette of an account's console: the pages and actions that are open to its user.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { whoIs } from '../api/reading.ts';
import { personScope } from '../api/scope.ts';
import { session } from '../api/session.ts';
import type { FinderProps } from '../palette/finder.tsx';
import { ownActions, pageItems, useAccountItems, useGo } from '../palette/items.ts';
import { Palette } from '../palette/palette.tsx';
import { objectOf } from '../palette/verbs.ts';
import { paths } from '../paths.ts';
import { useTyped } from '../typed.ts';

export function AccountPalette(props: FinderProps) {
  const scope = personScope();
  const go = useGo();
  const [here] = useLocation();
  const [searched, search] = useState('');
  const [typed, setTyped] = useTyped('', search);
  const { actions, records, isReading, reads } = useAccountItems(
    scope,
    paths,
    objectOf(searched),
    go,
  );
  const isPending = typed !== searched;
  return (
    <Palette
      items={[...pageItems(props.places, here, go), ...actions, ...ownActions(props), ...records]}
      typed={typed}
      onType={setTyped}
      isReading={isReading || isPending}
      reads={reads}
      who={whoIs(session.value) ?? ''}
      placeholder="Pages, actions, servers, users, addresses …"
      onClose={props.onClose}
    />
  );
}
