(* The sampler's chance (data/geometric.go, data/poisson.go), word by word: theorem every_record_joins.

   A word is an integer from 0 to B - 1, B = 2^64; names are those of the Go code. The sampling
   probability is q = mantissa / 2^shift, as split writes it. Below 2^-128 nobody joins. *)

From Coq Require Import ZArith Lia List Bool PeanoNat.
Import ListNotations.
Open Scope Z_scope.

Definition B := 2 ^ 64.
Definition word x := 0 <= x < B.

(* ** math/bits *)

Definition mul64 x y := (x * y / B, (x * y) mod B).
Definition add64 x y carry := ((x + y + carry) mod B, (x + y + carry) / B).
Definition sub64 x y borrow := ((x - y - borrow) mod B, if x - y - borrow <? 0 then 1 else 0).

(* ** fixed *)

Record fixed := { hi : Z; lo : Z }.
Definition words x := word (hi x) /\ word (lo x).

(* The integer that a fixed holds, in units of 2^-128. *)
Definition value x := hi x * B + lo x.

Definition minus x y :=
  let '(l, borrow) := sub64 (lo x) (lo y) 0 in
  let '(h, _) := sub64 (hi x) (hi y) borrow in
  {| hi := h; lo := l |}.

Fixpoint drop (fuel : nat) shift p2 p1 p0 :=
  match fuel with
  | O => (shift, p2, p1, p0)
  | S fuel => if 64 <=? shift then drop fuel (shift - 64) 0 p2 p1 else (shift, p2, p1, p0)
  end.

Definition join high low shift := Z.lor (Z.shiftl high (64 - shift) mod B) (Z.shiftr low shift).

Definition times x mantissa shift :=
  let '(carry, p0) := mul64 (lo x) mantissa in
  let '(p2, p1) := mul64 (hi x) mantissa in
  let '(p1, c) := add64 p1 carry 0 in
  let p2 := (p2 + c) mod B in
  let '(shift, p2, p1, p0) := drop (Z.to_nat shift) shift p2 p1 p0 in
  {| hi := join p2 p1 shift; lo := join p1 p0 shift |}.

Lemma B_large : 1 < B. Proof. reflexivity. Qed.

Lemma word_mod x : word (x mod B).
Proof. apply Z.mod_pos_bound. reflexivity. Qed.

(* minus returns x - y mod 1. *)
Lemma minus_value x y : words x -> words y ->
  words (minus x y) /\ value (minus x y) = (value x - value y) mod (B * B).
Proof.
  intros [Hx Hx'] [Hy Hy']. unfold minus, sub64, value, words; cbn [hi lo].
  split; [split; apply word_mod|].
  unfold word in *. pose proof B_large.
  set (b := if lo x - lo y - 0 <? 0 then 1 else 0).
  assert (E : (lo x - lo y - 0) mod B = lo x - lo y + b * B).
  { unfold b. destruct (Z.ltb_spec (lo x - lo y - 0) 0).
    - symmetry. apply Z.mod_unique with (-1); lia.
    - rewrite Z.mod_small; lia. }
  rewrite E. assert (0 <= b <= 1) by (unfold b; destruct (_ <? _); lia).
  pose proof (Z.div_mod (hi x - hi y - b) B ltac:(lia)) as D.
  pose proof (Z.mod_pos_bound (hi x - hi y - b) B ltac:(lia)) as M.
  pose proof (Z.mod_pos_bound (lo x - lo y - 0) B ltac:(lia)) as M'. rewrite E in M'.
  set (h := (hi x - hi y - b) mod B) in *. set (d := (hi x - hi y - b) / B) in *.
  clearbody h d b. replace (hi x) with (B * d + h + hi y + b) by lia.
  apply Z.mod_unique with d; [left; nia | ring].
Qed.

Lemma join_value high low shift : 0 <= shift < 64 -> word high -> word low ->
  join high low shift = (high mod 2 ^ shift) * 2 ^ (64 - shift) + low / 2 ^ shift
  /\ word (join high low shift).
Proof.
  intros Hs Hh Hl. unfold join.
  rewrite Z.shiftl_mul_pow2, Z.shiftr_div_pow2 by lia.
  assert (EB : B = 2 ^ shift * 2 ^ (64 - shift)).
  { unfold B. rewrite <- Z.pow_add_r by lia. f_equal. lia. }
  assert (0 < 2 ^ shift) by (apply Z.pow_pos_nonneg; lia).
  assert (0 < 2 ^ (64 - shift)) by (apply Z.pow_pos_nonneg; lia).
  assert (E : (high * 2 ^ (64 - shift)) mod B = (high mod 2 ^ shift) * 2 ^ (64 - shift)).
  { rewrite EB, Zmult_mod_distr_r. reflexivity. }
  rewrite E.
  pose proof (Z.mod_pos_bound high (2 ^ shift) ltac:(lia)).
  assert (0 <= low / 2 ^ shift < 2 ^ (64 - shift)).
  { unfold word in Hl. split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
  assert (L : Z.land (high mod 2 ^ shift * 2 ^ (64 - shift)) (low / 2 ^ shift) = 0).
  { apply Z.bits_inj'. intros n Hn. rewrite Z.land_spec, Z.bits_0.
    destruct (Z.lt_ge_cases n (64 - shift)).
    - rewrite Z.mul_pow2_bits_low by lia. reflexivity.
    - assert (T : Z.testbit (low / 2 ^ shift) n = false).
      { destruct (Z.eq_dec (low / 2 ^ shift) 0) as [E0|].
        - rewrite E0. apply Z.bits_0.
        - apply Z.bits_above_log2; [lia|]. apply Z.lt_le_trans with (64 - shift); [|lia].
          apply Z.log2_lt_pow2; lia. }
      rewrite T. apply andb_false_r. }
  rewrite <- Z.lxor_lor, <- Z.add_nocarry_lxor by exact L.
  split; [reflexivity|]. unfold word. rewrite EB. nia.
Qed.

(* Whole words are dropped until the shift is below 64: the same number divided by 2^shift. *)
Lemma drop_value fuel : forall shift p2 p1 p0, 0 <= shift <= Z.of_nat fuel ->
  word p2 -> word p1 -> word p0 ->
  let '(t, r2, r1, r0) := drop fuel shift p2 p1 p0 in
  0 <= t < 64 /\ word r2 /\ word r1 /\ word r0
  /\ (r2 * B * B + r1 * B + r0) / 2 ^ t = (p2 * B * B + p1 * B + p0) / 2 ^ shift.
Proof.
  induction fuel as [|fuel IH]; intros shift p2 p1 p0 Hs H2 H1 H0; cbn [drop].
  - repeat split; try apply H2; try apply H1; try apply H0; lia.
  - destruct (Z.leb_spec 64 shift).
    + assert (W : word 0) by (unfold word, B; lia).
      specialize (IH (shift - 64) 0 p2 p1 ltac:(lia) W H2 H1).
      destruct (drop fuel (shift - 64) 0 p2 p1) as [[[t r2] r1] r0].
      destruct IH as (A & A2 & A1 & A0 & E). repeat (split; [assumption|]).
      rewrite E. replace (2 ^ shift) with (B * 2 ^ (shift - 64)).
      * rewrite <- Z.div_div by (unfold B; try apply Z.pow_pos_nonneg; lia). f_equal.
        apply Z.div_unique with p0; [left; exact H0 | unfold B; lia].
      * unfold B. rewrite <- Z.pow_add_r by lia. f_equal. lia.
    + repeat split; try apply H2; try apply H1; try apply H0; lia.
Qed.

(* times returns x * mantissa / 2^shift mod 1, rounded down. *)
Lemma times_value x mantissa shift : words x -> word mantissa -> 0 <= shift ->
  words (times x mantissa shift)
  /\ value (times x mantissa shift) = (value x * mantissa / 2 ^ shift) mod (B * B).
Proof.
  intros [Hh Hl] Hm Hs. unfold times, mul64, add64.
  pose proof B_large. unfold word in *.
  set (l := lo x * mantissa). set (h := hi x * mantissa).
  pose proof (Z.div_mod l B ltac:(lia)) as Dl. pose proof (Z.mod_pos_bound l B ltac:(lia)) as Ml.
  pose proof (Z.div_mod h B ltac:(lia)) as Dh. pose proof (Z.mod_pos_bound h B ltac:(lia)) as Mh.
  assert (0 <= l <= (B - 1) * (B - 1)) by (split; [apply Z.mul_nonneg_nonneg | apply Z.mul_le_mono_nonneg]; lia).
  assert (0 <= h <= (B - 1) * (B - 1)) by (split; [apply Z.mul_nonneg_nonneg | apply Z.mul_le_mono_nonneg]; lia).
  assert (0 <= l / B < B - 1).
  { split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
  assert (0 <= h / B < B - 1).
  { split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
  set (y := h mod B + l / B + 0).
  pose proof (Z.div_mod y B ltac:(lia)) as Dy. pose proof (Z.mod_pos_bound y B ltac:(lia)) as My.
  assert (0 <= y / B <= 1).
  { unfold y. split; [apply Z.div_pos; lia|].
    enough ((h mod B + l / B + 0) / B < 2) by lia. apply Z.div_lt_upper_bound; lia. }
  rewrite (Z.mod_small (h / B + y / B)) by lia.
  pose proof (drop_value (Z.to_nat shift) shift (h / B + y / B) (y mod B) (l mod B)
    ltac:(lia) ltac:(unfold word; lia) ltac:(unfold word; lia) ltac:(unfold word; lia)) as D.
  destruct (drop _ _ _ _ _) as [[[t p2] p1] p0]. destruct D as (Ht & V2 & V1 & V0 & E).
  destruct (join_value p2 p1 t Ht V2 V1) as [E1 W1].
  destruct (join_value p1 p0 t Ht V1 V0) as [E0 W0].
  split; [split; assumption|]. unfold value; cbn [hi lo].
  assert (EV : (hi x * B + lo x) * mantissa = (h / B + y / B) * B * B + y mod B * B + l mod B).
  { replace ((hi x * B + lo x) * mantissa) with (h * B + l) by (unfold h, l; ring).
    replace (h * B) with ((B * (h / B) + h mod B) * B) by (rewrite <- Dh; ring).
    rewrite Dl at 1. replace (h mod B) with (B * (y / B) + y mod B - l / B) by (unfold y in *; lia). ring. }
  rewrite EV, <- E, E1, E0.
  assert (P : 0 < 2 ^ t) by (apply Z.pow_pos_nonneg; lia).
  assert (EB : B = 2 ^ t * 2 ^ (64 - t)).
  { unfold B. rewrite <- Z.pow_add_r by lia. f_equal. lia. }
  assert (P' : 0 < 2 ^ (64 - t)) by (apply Z.pow_pos_nonneg; lia).
  unfold word in *. rewrite E1 in W1. rewrite E0 in W0.
  set (a := 2 ^ t) in *. set (c := 2 ^ (64 - t)) in *.
  pose proof (Z.div_mod p2 a ltac:(lia)) as D2.
  pose proof (Z.div_mod p1 a ltac:(lia)) as D1.
  pose proof (Z.div_mod p0 a ltac:(lia)) as D0.
  pose proof (Z.mod_pos_bound p0 a ltac:(lia)) as M0.
  set (r2 := p2 mod a) in *. set (q2 := p2 / a) in *.
  set (r1 := p1 mod a) in *. set (q1 := p1 / a) in *.
  set (q0 := p0 / a) in *. set (r0 := p0 mod a) in *.
  assert (F : (p2 * B * B + p1 * B + p0) / a = q2 * B * B + (r2 * c + q1) * B + (r1 * c + q0)).
  { symmetry. apply Z.div_unique with r0; [left; exact M0|].
    rewrite D2, D1, D0, EB. ring. }
  rewrite F. clearbody r2 q2 r1 q1 q0 r0. clear - W1 W0.
  set (v := r2 * c + q1) in *. set (w := r1 * c + q0) in *.
  apply Z.mod_unique with q2; [left; nia | ring].
Qed.

(* ** skipTable *)

Definition one := B * B.
Definition tableEnd := 2 ^ 60. (* 1/16, as the first word of a fixed *)
Definition maxSkips := 512%nat.

Fixpoint extend (fuel : nat) mantissa shift s : list fixed :=
  s :: match fuel with
       | O => []
       | S fuel => if hi s <? tableEnd then []
                   else extend fuel mantissa shift (minus s (times s mantissa shift))
       end.

Definition fill mantissa shift (n : nat) : list fixed :=
  extend (min maxSkips n - 1) mantissa shift
    (minus {| hi := 0; lo := 0 |} (times {| hi := 2 ^ 63; lo := 0 |} mantissa (shift - 1))).

(* What split makes of a sampling probability q = mantissa / 2^shift from 2^-128 to 1. *)
Definition probability mantissa shift :=
  word mantissa /\ 1 <= shift /\ mantissa <= 2 ^ shift /\ 2 ^ shift <= mantissa * one.

Section Table.
Variables (mantissa shift : Z) (n : nat).
Hypothesis Hq : probability mantissa shift.

Let table := fill mantissa shift n.

(* S_0 = 1 and S_{k+1} = S_k - floor(q * S_k), in units of 2^-128. *)
Fixpoint survival (k : nat) : Z :=
  match k with
  | O => one
  | S k => survival k - mantissa * survival k / 2 ^ shift
  end.

Lemma pow_positive : 0 < 2 ^ shift.
Proof. apply Z.pow_pos_nonneg; [lia|]. destruct Hq as (_ & H & _). lia. Qed.

(* What is taken from S_k is at most q * S_k, and more than that less 1. *)
Lemma taken_bounds s : 0 <= s ->
  0 <= mantissa * s / 2 ^ shift <= s
  /\ mantissa * s / 2 ^ shift * 2 ^ shift <= mantissa * s
  /\ mantissa * s < (mantissa * s / 2 ^ shift + 1) * 2 ^ shift.
Proof.
  intros Hs. pose proof pow_positive. destruct Hq as ([H0 _] & _ & H1 & _).
  pose proof (Z.div_mod (mantissa * s) (2 ^ shift) ltac:(lia)).
  pose proof (Z.mod_pos_bound (mantissa * s) (2 ^ shift) ltac:(lia)).
  assert (0 <= mantissa * s) by (apply Z.mul_nonneg_nonneg; lia).
  repeat split; try lia.
  - apply Z.div_pos; lia.
  - apply Z.div_le_upper_bound; [lia|]. apply Z.mul_le_mono_nonneg_r; lia.
Qed.

Lemma survival_nonneg k : 0 <= survival k.
Proof.
  induction k as [|k IH]; cbn [survival]; [unfold one, B; lia|].
  pose proof (taken_bounds _ IH). lia.
Qed.

Lemma survival_falls k : survival (S k) <= survival k.
Proof. pose proof (taken_bounds _ (survival_nonneg k)). cbn [survival]. lia. Qed.

Lemma value_nonneg x : words x -> 0 <= value x < one.
Proof. intros [[? ?] [? ?]]. unfold value, one. pose proof B_large. nia. Qed.

Lemma first_value :
  let x := minus {| hi := 0; lo := 0 |} (times {| hi := 2 ^ 63; lo := 0 |} mantissa (shift - 1)) in
  words x /\ value x = survival 1.
Proof.
  destruct Hq as (Hm & Hs & H1 & H2). pose proof pow_positive as P.
  assert (W0 : words {| hi := 0; lo := 0 |}) by (repeat split; cbn; unfold B; lia).
  assert (Wh : words {| hi := 2 ^ 63; lo := 0 |}) by (repeat split; cbn; unfold B; lia).
  destruct (times_value _ mantissa (shift - 1) Wh Hm ltac:(lia)) as [Wt Et].
  destruct (minus_value _ _ W0 Wt) as [Wx Ex]. split; [exact Wx|].
  rewrite Ex, Et. cbn [survival]. fold one.
  replace (value {| hi := 0; lo := 0 |}) with 0 by reflexivity.
  assert (E : value {| hi := 2 ^ 63; lo := 0 |} * mantissa / 2 ^ (shift - 1) = mantissa * one / 2 ^ shift).
  { assert (E2 : 2 ^ shift = 2 ^ (shift - 1) * 2).
    { replace shift with (Z.succ (shift - 1)) at 1 by lia. rewrite Z.pow_succ_r by lia. ring. }
    rewrite E2.
    replace (mantissa * one) with (value {| hi := 2 ^ 63; lo := 0 |} * mantissa * 2)
      by (unfold value, one, B; cbn [hi lo]; ring).
    rewrite Z.div_mul_cancel_r; [reflexivity| |lia].
    apply Z.pow_nonzero; lia. }
  rewrite E. destruct (taken_bounds one ltac:(unfold one, B; lia)) as (T & _ & U).
  set (d := mantissa * one / 2 ^ shift) in *.
  assert (1 <= d) by nia.
  assert (O : 0 < one) by reflexivity. clearbody d.
  destruct (Z.eq_dec d one) as [->|].
  - rewrite Z.mod_same, Z.sub_diag by lia. reflexivity.
  - rewrite (Z.mod_small d) by lia. symmetry. apply Z.mod_unique with (-1); lia.
Qed.

Lemma next_value x k : words x -> value x = survival k ->
  words (minus x (times x mantissa shift)) /\ value (minus x (times x mantissa shift)) = survival (S k).
Proof.
  intros Wx Ex. destruct Hq as (Hm & Hs & _).
  destruct (times_value x mantissa shift Wx Hm ltac:(lia)) as [Wt Et].
  destruct (minus_value x _ Wx Wt) as [W E]. split; [exact W|].
  rewrite E, Et. fold one. cbn [survival]. pose proof (value_nonneg x Wx) as V.
  replace (value x * mantissa) with (mantissa * survival k) by (rewrite Ex; ring).
  destruct (taken_bounds (survival k) (survival_nonneg k)) as (T & _).
  rewrite (Z.mod_small (_ / _)) by lia. rewrite Ex. apply Z.mod_small. lia.
Qed.

Lemma extend_values fuel : forall x k, words x -> value x = survival k ->
  forall i, (i < length (extend fuel mantissa shift x))%nat ->
  (words (nth i (extend fuel mantissa shift x) x)
   /\ value (nth i (extend fuel mantissa shift x) x) = survival (k + i))
  /\ ((0 < i)%nat -> 2 ^ 124 <= survival (k + i - 1)).
Proof.
  induction fuel as [|fuel IH]; intros x k Wx Ex i Hi; cbn [extend] in *.
  - destruct i; [|cbn in Hi; lia]. rewrite Nat.add_0_r. cbn. split; [split; assumption | lia].
  - destruct i as [|i].
    + rewrite Nat.add_0_r. cbn. split; [split; assumption | lia].
    + cbn [length nth] in *. destruct (Z.ltb_spec (hi x) tableEnd); [cbn in Hi; lia|].
      destruct (next_value x k Wx Ex) as [W E].
      destruct (IH _ (S k) W E i ltac:(lia)) as [Ei Si].
      split.
      * rewrite (nth_indep _ x (minus x (times x mantissa shift))) by lia.
        rewrite <- Nat.add_succ_comm. exact Ei.
      * intros _. destruct i as [|i].
        -- replace (k + 1 - 1)%nat with k by lia. rewrite <- Ex. unfold value.
           destruct Wx as [_ [L _]]. replace (2 ^ 124) with (tableEnd * B) by reflexivity.
           pose proof B_large. nia.
        -- replace (k + S (S i) - 1)%nat with (S k + S i - 1)%nat by lia. apply Si. lia.
Qed.

(* fill sets survival[k-1] to S_k, and every S_k before the last is at least 1/16. *)
Theorem fill_is_survival k : (k < length table)%nat ->
  (forall x, words (nth k table x) /\ value (nth k table x) = survival (S k))
  /\ 2 ^ 124 <= survival k.
Proof.
  intros Hk. unfold table, fill in *. destruct first_value as [W E].
  destruct (extend_values _ _ 1 W E k Hk) as [V L]. split.
  - intros x. erewrite nth_indep by exact Hk. exact V.
  - destruct k as [|k]; [discriminate|]. apply L. lia.
Qed.

Lemma table_not_empty : (0 < length table)%nat.
Proof. unfold table, fill. destruct (min maxSkips n - 1)%nat; cbn; lia. Qed.

(* The record after k left out joins with chance floor(q*S_k)/S_k. It is at most q, and above
   q - 2^-124: in integers, of S_k numbers S_k - S_{k+1} let it join. *)
Theorem chance_of_one_record k : (k < length table)%nat ->
  (survival k - survival (S k)) * 2 ^ shift <= mantissa * survival k
  /\ (mantissa * 2 ^ 124 - 2 ^ shift) * survival k
     < (survival k - survival (S k)) * (2 ^ shift * 2 ^ 124).
Proof.
  intros Hk. destruct (fill_is_survival k Hk) as [_ L]. cbn [survival].
  destruct (taken_bounds (survival k) (survival_nonneg k)) as (_ & U & V).
  pose proof pow_positive.
  set (t := mantissa * survival k / 2 ^ shift) in *. clearbody t.
  set (s := survival k) in *. clearbody s. set (p := 2 ^ shift) in *. clearbody p.
  replace (s - (s - t)) with t by ring. split; [lia|].
  set (e := 2 ^ 124) in *. assert (0 < e) by reflexivity. clearbody e.
  assert (mantissa * s * e < (t + 1) * p * e) by (apply Z.mul_lt_mono_pos_r; lia).
  assert (p * e <= p * s) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
Qed.

Lemma survival_order i j : (i <= j)%nat -> survival j <= survival i.
Proof. induction 1 as [|j _ IH]; [lia|]. pose proof (survival_falls j). lia. Qed.

(* ** draw *)

(* uniform is the first word and, when a comparison has drawn it, the second. *)
Definition uniform : Type := Z * option Z.

Definition below (u : uniform) (second : Z) (x : fixed) : bool * uniform :=
  let (h, l) := u in
  if negb (h =? hi x) then (h <? hi x, u)
  else let l := match l with Some l => l | None => second end in
       (l <? lo x, (h, Some l)).

Fixpoint search (fuel : nat) u second (low high : nat) : nat * uniform :=
  match fuel with
  | O => (low, u)
  | S fuel =>
    if (low <? high)%nat then
      let middle := Nat.div2 (low + high) in
      let (smaller, u) := below u second (nth middle table {| hi := 0; lo := 0 |}) in
      if smaller then search fuel u second (S middle) high else search fuel u second low middle
    else (low, u)
  end.

(* draw returns how many records are left out and whether the next one joins; first and second
   are the next words of the source, of which it takes the second only where it needs it. *)
Definition draw first second : nat * bool :=
  let (run, _) := search (length table) (first, None) second 0 (length table) in
  (run, (run <? length table)%nat).

(* A word that is drawn late is the same word: below compares 128 bits. *)
Lemma below_spec h l second x : words x -> word second -> l = None \/ l = Some second ->
  exists l', below (h, l) second x = (h * B + second <? value x, (h, l'))
             /\ (l' = None \/ l' = Some second).
Proof.
  intros [Wh Wl] Ws Hl. unfold below, value, word in *. pose proof B_large.
  destruct (Z.eqb_spec h (hi x)) as [->|Ne]; cbn [negb].
  - exists (Some second). split; [|right; reflexivity].
    assert (match l with Some l0 => l0 | None => second end = second) as -> by (destruct Hl; subst; reflexivity).
    f_equal. destruct (Z.ltb_spec second (lo x)), (Z.ltb_spec (hi x * B + second) (hi x * B + lo x)); lia.
  - exists l. split; [|exact Hl]. f_equal.
    destruct (Z.ltb_spec h (hi x)), (Z.ltb_spec (h * B + second) (hi x * B + lo x)); nia.
Qed.

Lemma search_spec second h : word second -> forall fuel l low high,
  l = None \/ l = Some second ->
  (low <= high <= length table)%nat -> (high - low <= fuel)%nat ->
  (forall k, (k < low)%nat -> h * B + second < survival (S k)) ->
  (forall k, (high <= k < length table)%nat -> survival (S k) <= h * B + second) ->
  let run := fst (search fuel (h, l) second low high) in
  (run <= length table)%nat /\ forall k, (k < length table)%nat ->
    (h * B + second < survival (S k) <-> (k < run)%nat).
Proof.
  intros Ws. induction fuel as [|fuel IH]; intros l low high Hl Hr Hf Ha Hb; cbn [search].
  - cbn [fst]. split; [lia|]. intros k Hk. split; intros H.
    + destruct (Nat.lt_ge_cases k low); [assumption|]. specialize (Hb k). lia.
    + apply Ha. exact H.
  - destruct (Nat.ltb_spec low high) as [L|L].
    + assert (Hm : (low <= Nat.div2 (low + high) < high)%nat).
      { rewrite Nat.div2_div. split; [apply Nat.div_le_lower_bound | apply Nat.div_lt_upper_bound]; lia. }
      set (middle := Nat.div2 (low + high)) in *. clearbody middle.
      destruct (fill_is_survival middle ltac:(lia)) as [F _].
      specialize (F {| hi := 0; lo := 0 |}). destruct F as [W F].
      destruct (below_spec h l second _ W Ws Hl) as (l' & E & Hl'). rewrite E, F.
      destruct (Z.ltb_spec (h * B + second) (survival (S middle))) as [C|C].
      * apply IH; [exact Hl' | lia | lia | | exact Hb].
        intros k Hk. pose proof (survival_order (S k) (S middle) ltac:(lia)). lia.
      * apply IH; [exact Hl' | lia | lia | exact Ha |].
        intros k Hk. pose proof (survival_order (S middle) (S k) ltac:(lia)). lia.
    + cbn [fst]. split; [lia|]. intros k Hk. split; intros H.
      * destruct (Nat.lt_ge_cases k low); [assumption|]. specialize (Hb k). lia.
      * apply Ha. exact H.
Qed.

(* A uniform number u, in units of 2^-128, leaves out as many records as there are entries above
   u: at least k if and only if u < S_k. *)
Definition run u := fst (draw (u / B) (u mod B)).

Lemma run_spec u : 0 <= u < one -> (run u <= length table)%nat /\ forall k, (k <= length table)%nat ->
  (u < survival k <-> (k <= run u)%nat).
Proof.
  intros Hu. pose proof B_large. unfold run, draw.
  pose proof (search_spec (u mod B) (u / B) (word_mod u) (length table) None 0 (length table)
    ltac:(left; reflexivity) ltac:(lia) ltac:(lia) ltac:(intros; lia) ltac:(intros; lia)) as S.
  cbv zeta in S. destruct (search _ _ _ _ _) as [r u']. cbn [fst] in *.
  replace (u / B * B + u mod B) with u in S by (pose proof (Z.div_mod u B ltac:(lia)); lia).
  destruct S as [S1 S2]. split; [exact S1|]. intros [|k] Hk.
  - cbn [survival]. lia.
  - rewrite S2 by lia. lia.
Qed.

Lemma draw_joins u : snd (draw (u / B) (u mod B)) = (run u <? length table)%nat.
Proof. unfold run, draw. destruct (search _ _ _ _ _). reflexivity. Qed.

(* ** Sample *)

(* The records that join, from the record next on, by the numbers us in turn. *)
Fixpoint sample (us : list Z) (next : nat) : list nat :=
  match us with
  | [] => []
  | u :: us =>
    let (run, joins) := draw (u / B) (u mod B) in
    if (n - next <=? run)%nat then []
    else let next := (next + run)%nat in
         if joins then next :: sample us (S next) else sample us next
  end.

(* What a number decides, about one record after the other. *)
Definition decide u : list bool :=
  repeat false (run u) ++ if (run u <? length table)%nat then [true] else [].
Definition decisions (us : list Z) : list bool := flat_map decide us.

Fixpoint places (at_ : nat) (l : list bool) : list nat :=
  match l with
  | [] => []
  | b :: l => (if b && (at_ <? n)%nat then [at_] else []) ++ places (S at_) l
  end.

Lemma places_left_out r l : forall at_, places at_ (repeat false r ++ l) = places (at_ + r) l.
Proof.
  induction r as [|r IH]; intros at_; cbn [repeat app places andb].
  - f_equal. lia.
  - rewrite IH. f_equal. lia.
Qed.

Lemma places_past_the_end l : forall at_, (n <= at_)%nat -> places at_ l = [].
Proof.
  induction l as [|b l IH]; intros at_ H; [reflexivity|]. cbn [places].
  destruct (Nat.ltb_spec at_ n); [lia|]. rewrite andb_false_r. apply IH. lia.
Qed.

(* The batch is the first n decisions. *)
Theorem sample_is_decisions us : forall next, sample us next = places next (decisions us).
Proof.
  induction us as [|u us IH]; intros next; [reflexivity|].
  cbn [sample decisions flat_map]. fold (decisions us).
  pose proof (draw_joins u) as J. unfold decide. fold (run u). unfold run in *.
  destruct (draw (u / B) (u mod B)) as [r joins]. cbn [fst snd] in *. subst joins.
  rewrite <- app_assoc, places_left_out.
  destruct (Nat.leb_spec (n - next) r).
  - rewrite places_past_the_end by lia. reflexivity.
  - destruct (r <? length table)%nat; cbn [app places andb].
    + destruct (Nat.ltb_spec (next + r) n); [|lia]. cbn [app]. f_equal. apply IH.
    + apply IH.
Qed.

(* ** Chances: every word of the source is uniform, so chances are counts of numbers below 2^128. *)

Variable size : nat.
Hypothesis Hsize : Z.of_nat size = one.

Fixpoint sum (k : nat) (f : Z -> Z) : Z :=
  match k with O => 0 | S k => f (Z.of_nat k) + sum k f end.

(* How many of all lists of so many numbers below 2^128 have a property. *)
Fixpoint count (draws : nat) (P : list Z -> bool) : Z :=
  match draws with
  | O => if P [] then 1 else 0
  | S draws => sum size (fun u => count draws (fun us => P (u :: us)))
  end.

Lemma sum_interval f c k : forall a b, 0 <= a <= b -> b <= Z.of_nat k ->
  (forall u, a <= u < b -> f u = c) ->
  (forall u, 0 <= u < Z.of_nat k -> u < a \/ b <= u -> f u = 0) ->
  sum k f = (b - a) * c.
Proof.
  induction k as [|k IH]; intros a b Hab Hb Hin Hout; cbn [sum].
  - replace (b - a) with 0 by lia. reflexivity.
  - destruct (Z.eq_dec b (Z.of_nat (S k))) as [E|E].
    + destruct (Z.eq_dec a b) as [->|].
      * rewrite (IH (Z.of_nat k) (Z.of_nat k)); [rewrite Hout by lia; ring | lia | lia | intros; lia |].
        intros; apply Hout; lia.
      * rewrite (IH a (Z.of_nat k)); [rewrite Hin by lia; nia | lia | lia | intros; apply Hin; lia |].
        intros; apply Hout; lia.
    + rewrite (IH a b); [rewrite Hout by lia; ring | lia | lia | exact Hin |].
      intros; apply Hout; lia.
Qed.

Lemma sum_ext k : forall f g, (forall u, 0 <= u < Z.of_nat k -> f u = g u) -> sum k f = sum k g.
Proof.
  induction k as [|k IH]; intros f g H; [reflexivity|]. cbn [sum].
  rewrite (H (Z.of_nat k)) by lia. f_equal. apply IH. intros; apply H; lia.
Qed.

Lemma count_ext d : forall P Q, (forall us, P us = Q us) -> count d P = count d Q.
Proof.
  induction d as [|d IH]; intros P Q H; cbn [count]; [rewrite H; reflexivity|].
  apply sum_ext. intros. apply IH. intros. apply H.
Qed.

Lemma count_none d : forall P, (forall us, P us = false) -> count d P = 0.
Proof.
  induction d as [|d IH]; intros P H; cbn [count]; [rewrite H; reflexivity|].
  rewrite (sum_interval _ 0 size 0 0); try lia. intros. apply IH. intros. apply H.
Qed.

Lemma count_all d : forall P, (forall us, P us = true) -> count d P = one ^ Z.of_nat d.
Proof.
  induction d as [|d IH]; intros P H; cbn [count]; [rewrite H; reflexivity|].
  rewrite (sum_interval _ (one ^ Z.of_nat d) size 0 one).
  - rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
  - unfold one, B; lia.
  - lia.
  - intros. apply IH. intros. apply H.
  - intros; lia.
Qed.

Fixpoint prefix (h l : list bool) : bool :=
  match h, l with
  | [], _ => true
  | a :: h, b :: l => Bool.eqb a b && prefix h l
  | _ :: _, [] => false
  end.

Lemma prefix_same k h l : prefix (repeat false k ++ h) (repeat false k ++ l) = prefix h l.
Proof. induction k; cbn; auto. Qed.

Lemma prefix_joins_before r : forall k h l, (r < k)%nat ->
  prefix (repeat false k ++ h) (repeat false r ++ true :: l) = false.
Proof.
  induction r as [|r IH]; intros [|k] h l H; try lia; cbn; [reflexivity|]. apply IH. lia.
Qed.

Lemma prefix_joins_after k : forall r h l, (k < r)%nat ->
  prefix (repeat false k ++ true :: h) (repeat false r ++ l) = false.
Proof.
  induction k as [|k IH]; intros [|r] h l H; try lia; cbn; [reflexivity|]. apply IH. lia.
Qed.

(* The number of lists of draws by which the first records fare as h says; length h draws decide
   about all of them. *)
Definition histories draws h := count draws (fun us => prefix h (decisions us)).

Lemma joins_before u k h us : 0 <= u < one -> (k <= length table)%nat -> survival k <= u ->
  prefix (repeat false k ++ h) (decisions (u :: us)) = false.
Proof.
  intros Hu Hk Hs. destruct (run_spec u Hu) as [R1 R2]. specialize (R2 k Hk).
  assert (run u < k)%nat by (destruct (Nat.lt_ge_cases (run u) k); [assumption|]; lia).
  cbn [decisions flat_map]. unfold decide.
  destruct (Nat.ltb_spec (run u) (length table)); [|lia].
  rewrite <- app_assoc. apply prefix_joins_before. assumption.
Qed.

(* k records are left out, and then nothing is asked. *)
Lemma histories_left_out d k : (k <= length table)%nat ->
  histories (S d) (repeat false k) = survival k * one ^ Z.of_nat d.
Proof.
  intros Hk. unfold histories. cbn [count].
  pose proof (survival_order 0 k ltac:(lia)) as O. cbn [survival] in O.
  rewrite (sum_interval _ (one ^ Z.of_nat d) size 0 (survival k)); [f_equal; lia | | lia | |].
  - pose proof (survival_nonneg k). lia.
  - intros u Hu. apply count_all. intros us.
    destruct (run_spec u ltac:(lia)) as [_ R]. specialize (R k Hk).
    assert (k <= run u)%nat by (apply R; lia).
    cbn [decisions flat_map]. unfold decide.
    replace (run u) with (k + (run u - k))%nat at 1 by lia.
    rewrite repeat_app, <- !app_assoc, <- (app_nil_r (repeat false k)), <- app_assoc, prefix_same. reflexivity.
  - intros u Hu Ho. apply count_none. intros us. rewrite <- (app_nil_r (repeat false k)).
    apply joins_before; lia.
Qed.

(* k records are left out, the next one joins, and h is what happens from there on. *)
Lemma histories_joins d k h : (k < length table)%nat ->
  histories (S d) (repeat false k ++ true :: h) = (survival k - survival (S k)) * histories d h.
Proof.
  intros Hk. unfold histories. cbn [count].
  pose proof (survival_order 0 k ltac:(lia)) as O. cbn [survival] in O.
  pose proof (survival_falls k) as F. pose proof (survival_nonneg (S k)).
  apply sum_interval; [lia | lia | |].
  - intros u Hu. apply count_ext. intros us.
    destruct (run_spec u ltac:(lia)) as [_ R]. pose proof (R k ltac:(lia)) as R1.
    pose proof (R (S k) ltac:(lia)) as R2.
    assert (E : run u = k) by lia.
    cbn [decisions flat_map]. unfold decide. rewrite E.
    destruct (Nat.ltb_spec k (length table)); [|lia].
    rewrite <- app_assoc, prefix_same. reflexivity.
  - intros u Hu Ho. apply count_none. intros us.
    destruct (run_spec u ltac:(lia)) as [_ R].
    destruct Ho as [L|L]; [|apply joins_before; lia].
    assert (S k <= run u)%nat by (apply R; lia).
    cbn [decisions flat_map]. unfold decide. rewrite <- app_assoc. apply prefix_joins_after. lia.
Qed.

(* A whole table of records is left out, and h is what happens from there on. *)
Lemma histories_goes_on d h :
  histories (S d) (repeat false (length table) ++ h) = survival (length table) * histories d h.
Proof.
  unfold histories. cbn [count].
  pose proof (survival_order 0 (length table) ltac:(lia)) as O. cbn [survival] in O.
  pose proof (survival_nonneg (length table)).
  rewrite (sum_interval _ (count d (fun us => prefix h (decisions us))) size 0 (survival (length table)));
    [f_equal; lia | lia | lia | |].
  - intros u Hu. apply count_ext. intros us.
    destruct (run_spec u ltac:(lia)) as [R1 R]. specialize (R (length table) ltac:(lia)).
    assert (E : run u = length table) by lia.
    cbn [decisions flat_map]. unfold decide. rewrite E, Nat.ltb_irrefl, app_nil_r, prefix_same.
    reflexivity.
  - intros u Hu Ho. apply count_none. intros us. apply joins_before; lia.
Qed.

Lemma histories_nonneg d h : 0 <= histories d h.
Proof.
  unfold histories. generalize (fun us => prefix h (decisions us)). induction d as [|d IH]; intros P; cbn [count].
  - destruct (P []); lia.
  - assert (forall k f, (forall u, 0 <= f u) -> 0 <= sum k f) as N.
    { induction k as [|k IHk]; intros f Hf; cbn [sum]; [lia|]. specialize (IHk f Hf). specialize (Hf (Z.of_nat k)). lia. }
    apply N. intros u. apply IH.
Qed.

Lemma history_cases h : forall most,
  (exists k, (k < most)%nat /\ h = repeat false k)
  \/ (exists k h', (k < most)%nat /\ h = repeat false k ++ true :: h')
  \/ (exists h', h = repeat false most ++ h').
Proof.
  induction h as [|b h IH]; intros [|most].
  - right; right. exists []. reflexivity.
  - left. exists 0%nat. split; [lia | reflexivity].
  - right; right. exists (b :: h). reflexivity.
  - destruct b.
    + right; left. exists 0%nat, h. split; [lia | reflexivity].
    + destruct (IH most) as [(k & Hk & ->)|[(k & h' & Hk & ->)|(h' & ->)]].
      * left. exists (S k). split; [lia | reflexivity].
      * right; left. exists (S k), h'. split; [lia | reflexivity].
      * right; right. exists h'. reflexivity.
Qed.

(* In one call of Sample, given what happened to records 0 ... i-1, record i joins the batch with a
   probability in (q - 2^-124, q]: that of (h, joins) among all lists of draws divided by that of h,
   for every h that can happen. *)
Theorem every_record_joins draws : forall h, (length h < draws)%nat -> 0 < histories draws h ->
  histories draws (h ++ [true]) * 2 ^ shift <= mantissa * histories draws h
  /\ (mantissa * 2 ^ 124 - 2 ^ shift) * histories draws h
     < histories draws (h ++ [true]) * (2 ^ shift * 2 ^ 124).
Proof.
  induction draws as [|d IH]; intros h Hd Hp; [lia|].
  assert (Scale : forall c h', 0 <= c -> (length h' < d)%nat -> 0 < c * histories d h' ->
    c * histories d (h' ++ [true]) * 2 ^ shift <= mantissa * (c * histories d h')
    /\ (mantissa * 2 ^ 124 - 2 ^ shift) * (c * histories d h')
       < c * histories d (h' ++ [true]) * (2 ^ shift * 2 ^ 124)).
  { intros c h' Hc Hl Hn. pose proof (histories_nonneg d h') as N.
    assert (0 < c) by nia. assert (0 < histories d h') by nia.
    destruct (IH h' Hl ltac:(assumption)) as [U L].
    apply (Z.mul_le_mono_pos_l _ _ c) in U; [|assumption].
    apply (Z.mul_lt_mono_pos_l c) in L; [|assumption]. split; lia. }
  destruct (history_cases h (length table)) as [(k & Hk & ->)|[(k & h' & Hk & ->)|(h' & ->)]].
  - rewrite (histories_joins d k []) by exact Hk. rewrite histories_left_out by lia.
    assert (E : histories d [] = one ^ Z.of_nat d) by (unfold histories; apply count_all; reflexivity).
    rewrite E. destruct (chance_of_one_record k Hk) as [U L].
    assert (P : 0 < one ^ Z.of_nat d) by (apply Z.pow_pos_nonneg; [reflexivity | lia]).
    apply (Z.mul_le_mono_pos_r _ _ _ P) in U. apply (Z.mul_lt_mono_pos_r _ _ _ P) in L. split; lia.
  - rewrite app_length, repeat_length in Hd. cbn [length] in Hd.
    rewrite <- app_assoc. cbn [app].
    rewrite histories_joins in * by exact Hk. rewrite histories_joins by exact Hk. pose proof (survival_falls k).
    apply Scale; [lia | lia | exact Hp].
  - rewrite app_length, repeat_length in Hd. pose proof table_not_empty.
    rewrite <- app_assoc. rewrite histories_goes_on in *. rewrite histories_goes_on.
    apply Scale; [apply survival_nonneg | lia | exact Hp].
Qed.

(* For q = 1 it is exactly q: every record joins, whatever happened to those before. *)
Theorem certain_records_join draws : mantissa = 2 ^ shift -> forall h, (length h < draws)%nat ->
  histories draws (h ++ [true]) = histories draws h.
Proof.
  intros Hm. pose proof pow_positive.
  assert (Z : forall k, survival (S k) = 0).
  { intros k. cbn [survival]. rewrite Hm, (Z.mul_comm (2 ^ shift)), Z.div_mul by lia. lia. }
  induction draws as [|d IH]; intros h Hd; [lia|].
  destruct (history_cases h (length table)) as [(k & Hk & ->)|[(k & h' & Hk & ->)|(h' & ->)]].
  - rewrite (histories_joins d k []) by exact Hk. rewrite histories_left_out by lia.
    assert (E : histories d [] = one ^ Z.of_nat d) by (unfold histories; apply count_all; reflexivity).
    rewrite E, Z. ring.
  - rewrite app_length, repeat_length in Hd. cbn [length] in Hd.
    rewrite <- app_assoc. cbn [app]. rewrite !histories_joins by exact Hk. rewrite IH by lia. reflexivity.
  - rewrite app_length, repeat_length in Hd. pose proof table_not_empty.
    rewrite <- app_assoc, !histories_goes_on, IH by lia. reflexivity.
Qed.

End Table.
