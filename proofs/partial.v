(* Sums of integers in 32 bits (clip/outer.go) and in float64 (clip/sum.go): whatever the order in
   which the kernels add, and wherever they stop, no partial sum is rounded or overflows. *)

From Coq Require Import ZArith Lia List Permutation Bool Reals.
From Flocq Require Import Core.
From DPSGD Require Import float64.
Import ListNotations.
Open Scope Z_scope.

(* ** int32: clip/outer.go *)

(* The rounded factors of one example, with what round returned for it: the largest magnitudes in
   them, and the shift. *)
Record example := { x : nat -> Z; z : nat -> Z; largestX : Z; largestZ : Z; shift : Z }.

Definition mostOfPair := 32767.
Definition maxInt32 := 2 ^ 31 - 1.

Definition measured e :=
  (forall a, Z.abs (x e a) <= largestX e <= mostOfPair)
  /\ (forall b, Z.abs (z e b) <= largestZ e <= mostOfPair).

(* The largest entry of the product without the shift, |x|oo * |z|oo. *)
Definition largest e := largestX e * largestZ e.

Definition total (run : list example) : Z := fold_right (fun e sum => largest e + sum) 0 run.

(* multiply: of examples with one shift, as many as keep the sum of what is largest within 32 bits. *)
Fixpoint take (first sum : Z) (rest : list example) : list example :=
  match rest with
  | [] => []
  | e :: rest =>
    if shift e =? first then
      let sum := sum + largest e in
      if maxInt32 <? sum then [] else e :: take first sum rest
    else []
  end.

Fixpoint runs (fuel : nat) (rest : list example) : list (list example) :=
  match fuel, rest with
  | S fuel, e :: _ =>
    let run := take (shift e) 0 rest in run :: runs fuel (skipn (length run) rest)
  | _, _ => []
  end.

Lemma take_is_a_prefix first rest : forall sum,
  take first sum rest ++ skipn (length (take first sum rest)) rest = rest.
Proof.
  induction rest as [|e rest IH]; intros sum; [reflexivity|]. cbn [take].
  destruct (shift e =? first); [|reflexivity].
  destruct (maxInt32 <? sum + largest e); [reflexivity|]. cbn. f_equal. apply IH.
Qed.

Lemma take_total first rest : forall sum, sum <= maxInt32 -> sum + total (take first sum rest) <= maxInt32.
Proof.
  induction rest as [|e rest IH]; intros sum H; cbn [take]; [cbn [total fold_right]; lia|].
  destruct (shift e =? first); [|cbn [total fold_right]; lia].
  destruct (Z.ltb_spec maxInt32 (sum + largest e)); [cbn [total fold_right]; lia|].
  cbn [total fold_right]. fold (total (take first (sum + largest e) rest)).
  specialize (IH (sum + largest e) ltac:(lia)). lia.
Qed.

Lemma take_shift first rest : forall sum, Forall (fun e => shift e = first) (take first sum rest).
Proof.
  induction rest as [|e rest IH]; intros sum; cbn [take]; [constructor|].
  destruct (Z.eqb_spec (shift e) first); [|constructor].
  destruct (maxInt32 <? sum + largest e); constructor; auto.
Qed.

Lemma largest_bounds e : measured e -> 0 <= largest e <= maxInt32.
Proof.
  intros [Hx Hz]. specialize (Hx 0%nat). specialize (Hz 0%nat).
  unfold largest, maxInt32, mostOfPair in *. split; [apply Z.mul_nonneg_nonneg; lia|].
  apply Z.le_trans with (32767 * 32767); [apply Z.mul_le_mono_nonneg|]; lia.
Qed.

Lemma take_takes_one e rest : measured e -> take (shift e) 0 (e :: rest) <> [].
Proof.
  intros M. apply largest_bounds in M. cbn [take]. rewrite Z.eqb_refl.
  destruct (Z.ltb_spec maxInt32 (0 + largest e)); [lia | discriminate].
Qed.

(* Every example is in one run; a run has one shift, and its largest entries sum up to at most 2^31-1. *)
Theorem runs_are_all : forall fuel rest, Forall measured rest -> (length rest <= fuel)%nat ->
  concat (runs fuel rest) = rest
  /\ Forall (fun run => total run <= maxInt32 /\ exists first, Forall (fun e => shift e = first) run)
       (runs fuel rest).
Proof.
  induction fuel as [|fuel IH]; intros [|e rest] M L; cbn [runs]; try (split; [reflexivity | constructor]).
  - cbn in L. lia.
  - pose proof (take_is_a_prefix (shift e) (e :: rest) 0) as P.
    pose proof (take_takes_one e rest (Forall_inv M)) as N.
    set (run := take (shift e) 0 (e :: rest)) in *.
    assert (0 < length run)%nat by (destruct run; [congruence | cbn; lia]).
    destruct (IH (skipn (length run) (e :: rest))) as [C F].
    + rewrite <- P in M. apply Forall_app in M. apply M.
    + rewrite skipn_length. cbn [length] in *. lia.
    + split; [cbn [concat]; rewrite C; exact P|]. constructor; [|exact F]. split.
      * apply (take_total (shift e) (e :: rest) 0). unfold maxInt32. lia.
      * exists (shift e). apply take_shift.
Qed.

(* A sum in some order, of some examples: a tree of additions. *)
Inductive order :=
| Nothing
| Product (e : example)
| Plus (s t : order).

Fixpoint examples s : list example :=
  match s with Nothing => [] | Product e => [e] | Plus s t => examples s ++ examples t end.

(* What 32 bits hold of an integer. *)
Definition wrap v := (v + 2 ^ 31) mod 2 ^ 32 - 2 ^ 31.

(* Coordinate (a, b) of the sum, exactly, and with every operation in 32 bits. *)
Fixpoint exact a b s : Z :=
  match s with
  | Nothing => 0 | Product e => x e a * z e b | Plus s t => exact a b s + exact a b t
  end.
Fixpoint int32 a b s : Z :=
  match s with
  | Nothing => 0 | Product e => wrap (x e a * z e b) | Plus s t => wrap (int32 a b s + int32 a b t)
  end.

Lemma wrap_small v : Z.abs v <= maxInt32 -> wrap v = v.
Proof. intros H. unfold wrap, maxInt32 in *. rewrite Z.mod_small; lia. Qed.

Lemma total_app r s : total (r ++ s) = total r + total s.
Proof. induction r as [|e r IH]; [reflexivity|]. cbn [app total fold_right] in *. unfold total in *. lia. Qed.

Lemma total_nonneg r : Forall measured r -> 0 <= total r.
Proof.
  induction 1 as [|e r M _ IH]; [cbn; lia|]. apply largest_bounds in M.
  cbn [total fold_right]. fold (total r). lia.
Qed.

Lemma total_permutation r s : Permutation r s -> total r = total s.
Proof. induction 1; unfold total in *; cbn [fold_right]; lia. Qed.

Lemma order_is_exact a b s : Forall measured (examples s) -> total (examples s) <= maxInt32 ->
  int32 a b s = exact a b s /\ Z.abs (exact a b s) <= total (examples s).
Proof.
  induction s as [|e|s IHs t IHt]; cbn [examples int32 exact]; intros M T.
  - cbn. lia.
  - apply Forall_inv in M. pose proof (largest_bounds e M) as L. destruct M as [Mx Mz].
    specialize (Mx a). specialize (Mz b).
    assert (A : Z.abs (x e a * z e b) <= largest e).
    { unfold largest. rewrite Z.abs_mul. apply Z.mul_le_mono_nonneg; lia. }
    cbn [total fold_right] in *. split; [apply wrap_small|]; lia.
  - apply Forall_app in M. destruct M as [Ms Mt]. rewrite total_app in *.
    pose proof (total_nonneg _ Ms). pose proof (total_nonneg _ Mt).
    destruct (IHs Ms ltac:(lia)) as [Es Bs]. destruct (IHt Mt ltac:(lia)) as [Et Bt].
    rewrite Es, Et. split; [apply wrap_small|]; lia.
Qed.

(* Every partial sum, in any order, of a run is within 32 bits, and what 32 bits compute is exact. *)
Theorem partial_sums_fit fuel all run s others a b :
  Forall measured all -> (length all <= fuel)%nat -> In run (runs fuel all) ->
  Permutation (examples s ++ others) run ->
  int32 a b s = exact a b s /\ Z.abs (exact a b s) <= maxInt32.
Proof.
  intros M L I P. destruct (runs_are_all fuel all M L) as [C F].
  assert (Mr : Forall measured run).
  { rewrite <- C in M. rewrite Forall_forall in *. intros e He. apply M, in_concat. eauto. }
  rewrite Forall_forall in F. destruct (F run I) as [T _].
  assert (Mp : Forall measured (examples s ++ others)) by (eapply Permutation_Forall; [symmetry; exact P | exact Mr]).
  apply Forall_app in Mp. destruct Mp as [Ms Mo].
  rewrite <- (total_permutation _ _ P), total_app in T. pose proof (total_nonneg _ Mo).
  destruct (order_is_exact a b s Ms ltac:(lia)). lia.
Qed.

(* ** float64: clip/sum.go, groupExamples *)

Definition latticeBits := 20.
Definition mostDigits := 26.
Definition groupExamples digits := Z.min (2 ^ 10) (2 ^ (53 - latticeBits - 1 - digits)).

Inductive additions :=
| Zero
| One (c : Z)
| Sum (s t : additions).

Fixpoint terms s : list Z :=
  match s with Zero => [] | One c => [c] | Sum s t => terms s ++ terms t end.
Fixpoint integer s : Z :=
  match s with Zero => 0 | One c => c | Sum s t => integer s + integer t end.
Fixpoint float s : R :=
  match s with Zero => 0%R | One c => IZR c | Sum s t => float64 (float s + float t) end.

Lemma integers_are_floats n : Z.abs n <= 2 ^ 53 -> float64 (IZR n) = IZR n.
Proof.
  intros H. apply round_generic; [apply valid_rnd_N|].
  destruct (Z.eq_dec (Z.abs n) (2 ^ 53)) as [E|E].
  - assert (n = 2 ^ 53 * Z.sgn n) as -> by lia.
    replace (IZR (2 ^ 53 * Z.sgn n)) with (F2R (Float radix2 (Z.sgn n) 53)).
    + apply generic_format_FLT. exists (Float radix2 (Z.sgn n) 53); [reflexivity | | cbn; lia].
      cbn [Fnum]. destruct n; cbn; lia.
    + unfold F2R. cbn [Fnum Fexp]. rewrite mult_IZR, Rmult_comm. f_equal.
  - apply generic_format_FLT. exists (Float radix2 n 0); [unfold F2R; cbn; ring | | cbn; lia].
    cbn [Fnum]. change (radix_val radix2 ^ 53) with (2 ^ 53). lia.
Qed.

Lemma float_is_exact most s : 0 <= most -> Forall (fun c => Z.abs c <= most) (terms s) ->
  Z.of_nat (length (terms s)) * most <= 2 ^ 53 ->
  float s = IZR (integer s) /\ Z.abs (integer s) <= Z.of_nat (length (terms s)) * most.
Proof.
  intros Hm. induction s as [|c|s IHs t IHt]; cbn [terms integer float]; intros F L.
  - cbn. split; [reflexivity | lia].
  - split; [reflexivity|]. apply Forall_inv in F. cbn [length]. lia.
  - apply Forall_app in F. destruct F as [Fs Ft]. rewrite app_length, Nat2Z.inj_add in *.
    destruct (IHs Fs ltac:(nia)) as [Es Bs]. destruct (IHt Ft ltac:(nia)) as [Et Bt].
    rewrite Es, Et, <- plus_IZR. split; [apply integers_are_floats|]; lia.
Qed.

(* As many rows as groupExamples says, each of which adds at most C/g < 2^(21+Digits) to a coordinate,
   have an exact sum in float64, in any order, and so has every part of them. *)
Theorem groups_are_exact digits most s : 0 <= digits <= mostDigits ->
  0 <= most < 2 ^ (21 + digits) -> Forall (fun c => Z.abs c <= most) (terms s) ->
  Z.of_nat (length (terms s)) <= groupExamples digits ->
  float s = IZR (integer s) /\ Z.abs (integer s) <= 2 ^ 53.
Proof.
  unfold mostDigits, groupExamples, latticeBits. intros Hd Hm F L.
  assert (Z.of_nat (length (terms s)) * most <= 2 ^ 53).
  { replace (2 ^ 53) with (2 ^ (53 - 20 - 1 - digits) * 2 ^ (21 + digits))
      by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
    apply Z.mul_le_mono_nonneg; lia. }
  destruct (float_is_exact most s ltac:(lia) F ltac:(assumption)). split; [assumption | lia].
Qed.
